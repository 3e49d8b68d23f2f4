// verify: safe, check: -
int main(void) { for (;;) ; }
