// verify: unsafe, check: fails
int s = -1;
int main(void) { int x = 8; x >>= s; return x == 3; }
