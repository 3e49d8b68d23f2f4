// verify: unsafe, check: fails
int s = 32;
int main(void) { int x = 1 << s; return x == 3; }
