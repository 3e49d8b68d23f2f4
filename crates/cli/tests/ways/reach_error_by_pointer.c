// verify: unsafe, check: fails
void reach_error(void) { }
static void call(int n) { if (n) reach_error(); }
int main(void) { call(1); return 0; }
