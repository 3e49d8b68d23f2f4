// verify: unsafe, check: fails
int a[4], i = 4;
int main(void) { a[i] = 1; return 0; }
