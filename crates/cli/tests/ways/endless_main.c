// verify: safe, check: -
int x;
int main(void) { for (;;) x = 1 - x; }
