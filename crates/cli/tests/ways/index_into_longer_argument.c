// verify: safe, check: verified
int a[8] = {0, 0, 0, 0, 0, 6}, i = 5;
int f(int p[4]) { return p[i]; }
int main(void) { return f(a) - 6; }
