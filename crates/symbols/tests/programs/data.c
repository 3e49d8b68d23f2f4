#include "probe.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum color { RED, GREEN = 5, DARK = -2 };
struct point {
    int x, y;
};
struct config {
    int limit;
    char name[12];
    struct point corner;
    union {
        long whole;
        struct {
            short low, high;
        } halves;
    } both;
    struct {
        int hidden;
    };
    double ratio;
};
struct node {
    int value;
    struct node *next;
};
struct list {
    int length;
    struct node *head;
};
struct slot {
    int turn;
    struct point *where;
};
struct queue {
    unsigned size;
    struct slot *slots;
};
struct buffer {
    int used;
    int data[];
};
struct bits {
    unsigned a : 3, b : 5;
    unsigned c : 20;
    char after;
};
typedef struct node node_t;
struct elsewhere; /* Defined in other.c. */

int counter = 7;
unsigned char byte = 200;
signed char small = -3;
long long big = -5000000000LL;
bool flag = true;
float third = 0.5f;
int table[10];
int grid[3][4];
struct config config = {.limit = 3, .ratio = 1.5};
static node_t nodes[4];
struct list list;
enum color shade = GREEN;
enum color dark = DARK;
_Atomic int shared;
volatile const int *watched = &table[3];
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct bits bits;
struct buffer flexible = {2, {1, 2, 3}};
static int hits; /* other.c has one as well. */
_Thread_local int own;
int *nothing;
struct config *chosen = &config;
void *anything = &config;
void (*handler)(void);

/* What has names by pointers alone. */
struct node *head;
struct queue queue;
int *row;
int *one;
struct node **indirect;
struct point *corners[3];
int (*matrix)[4];
void *untyped;
struct elsewhere *volatile far; /* Volatile, since nobody reads it. */
struct buffer *growing;

struct elsewhere *make_elsewhere(void);
void say_other(void);

static int next_id(void) {
    static int id = 100;
    AT_LINE("next_id.id", &id);
    return ++id;
}

static int other_id(void) {
    static int id = 200;
    AT_LINE("other_id.id", &id);
    static int alone = 1;
    at("alone", &alone);
    return ++id + alone;
}

static inline __attribute__((always_inline)) void inner(void) {
    HERE("inner");
}

static inline __attribute__((always_inline)) void middle(void) {
    printf("at middle 0 %d\n", __LINE__), inner();
}

__attribute__((noinline)) static void outer(void) {
    printf("at outer 0 %d\n", __LINE__), middle();
    __asm__ volatile("");
}

__attribute__((noinline)) static int stack(int parameter) {
    int local = 4;
    int numbers[5] = {0};
    struct config mine = config;
    struct node *chain = malloc(sizeof *chain);
    chain->value = 31;
    chain->next = NULL;
    static int fixed = 3;
    CFA("cfa");
    at("parameter", &parameter);
    at("local", &local);
    at("numbers[2]", &numbers[2]);
    at("mine.corner.y", &mine.corner.y);
    at("chain->value", &chain->value);
    at("fixed", &fixed);
    {
        int local = 9;
        at("inner local", &local);
        HERE("block");
    }
    {
        long other = 10;
        at("other", &other);
        HERE("second block");
    }
    HERE("stack");
    serve();
    return local + numbers[2] + parameter;
}

static struct node *push(struct node *next, int value) {
    struct node *node = malloc(sizeof *node);
    node->value = value;
    node->next = next;
    return node;
}

int main(void) {
    say_base();
    at("counter", &counter);
    at("byte", &byte);
    at("small", &small);
    at("big", &big);
    at("flag", &flag);
    at("third", &third);
    at("table[0]", &table[0]);
    at("table[3]", &table[3]);
    at("table[9]", &table[9]);
    at("table end", &table[10]);
    at("grid[1][2]", &grid[1][2]);
    at("config.limit", &config.limit);
    at("config.name[4]", &config.name[4]);
    at("config.corner.y", &config.corner.y);
    at("config.both.whole", &config.both.whole);
    at("config.both.halves.high", &config.both.halves.high);
    at("config.hidden", &config.hidden);
    at("config.ratio", &config.ratio);
    at("nodes[2].next", &nodes[2].next);
    at("list.head", &list.head);
    at("shade", &shade);
    at("dark", &dark);
    at("shared", &shared);
    at("watched", &watched);
    at("lock", &lock);
    at("bits", &bits);
    at("bits.after", &bits.after);
    at("flexible.data[2]", &flexible.data[2]);
    at("data.c:hits", &hits);
    at("own", &own);
    at("nothing", &nothing);
    at("chosen", &chosen);
    at("anything", &anything);
    at("handler", &handler);
    handler = outer;
    hits += next_id() + other_id();
    say_other();

    head = push(push(push(NULL, 3), 2), 1);
    list.head = head->next->next;
    indirect = malloc(sizeof *indirect);
    *indirect = push(NULL, 9);
    queue.size = 2;
    queue.slots = calloc(2, sizeof *queue.slots);
    queue.slots[1].where = malloc(sizeof(struct point));
    row = calloc(6, sizeof *row);
    one = malloc(sizeof *one);
    *one = 11;
    corners[2] = malloc(sizeof *corners[2]);
    matrix = calloc(2, sizeof *matrix);
    untyped = malloc(64);
    far = make_elsewhere();
    growing = calloc(1, sizeof *growing + 4 * sizeof(int));
    at("head->value", &head->value);
    at("head->next->value", &head->next->value);
    at("head->next", &head->next);
    at("list.head->value", &list.head->value);
    at("(*indirect)->value", &(*indirect)->value);
    at("*indirect", indirect);
    at("queue.slots", queue.slots);
    at("queue.slots[1].where", &queue.slots[1].where);
    at("queue.slots[1].where->y", &queue.slots[1].where->y);
    at("row[4]", &row[4]);
    at("*one", one);
    at("corners[2]->y", &corners[2]->y);
    at("matrix[1][2]", &matrix[1][2]);
    at("untyped", untyped);
    at("growing->data[3]", &growing->data[3]);
    at("row", row);
    at("matrix", matrix);
    at("growing", growing);
    HERE("main");
    outer();
    return stack(17) == 0;
}
