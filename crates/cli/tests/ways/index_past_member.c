// verify: unsafe, check: fails
struct s { int a[4]; int b; } v;
int i = 4;
int main(void) { v.a[i] = 1; return 0; }
