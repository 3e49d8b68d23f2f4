// verify: safe, check: verified
int a[4], i = 9;
int main(void) { if (i < 4 && a[i]) return 1; return sizeof(a[7]) != 4; }
