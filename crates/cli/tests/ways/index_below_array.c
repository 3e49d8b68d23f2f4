// verify: unsafe, check: fails
int a[4], i = -1;
int main(void) { int v = a[i]; return v == 7; }
