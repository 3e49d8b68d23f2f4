// verify: safe, check: verified
int a[4];
int main(void) { int *end = &a[4], n = 0; for (int *p = a; p != end; p++) n++; return n - 4; }
