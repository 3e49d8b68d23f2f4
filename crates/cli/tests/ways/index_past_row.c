// verify: unsafe, check: fails
int a[2][3], i = 3;
int main(void) { a[0][i] = 1; return 0; }
