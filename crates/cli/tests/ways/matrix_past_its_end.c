// verify: unsafe, check: -
int a[2][3];
int main(void) { int *p = &a[0][0]; p[6] = 1; return 0; }
