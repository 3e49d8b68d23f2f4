// verify: safe, check: verified
int s = 31;
long t = 63;
int main(void) { int x = 1 << s; unsigned long y = 1ul << t; return x == 0 || y == 0; }
