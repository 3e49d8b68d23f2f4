// verify: unsafe, check: fails
int z;
int main(void) { int x = 1 / z; return x == 3; }
