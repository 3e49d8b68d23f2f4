// verify: unsafe, check: fails
int i = 4;
int main(void) { int a[4] = {0}; a[i] = 1; return 0; }
