// driver_table: a device has a table of functions; two threads open and close it through that.
// Holds: nobody closes what is not open, and in the end all is closed. With -DBUG the table has `open_` twice.
#include <assert.h>
#include <pthread.h>

struct device;

struct operations {
    void (*open)(struct device *);
    void (*close)(struct device *);
};

struct device {
    const struct operations *operations;
    int users;
    pthread_mutex_t m;
};

static void open_(struct device *d) {
    pthread_mutex_lock(&d->m); /* open */
    d->users++;
    pthread_mutex_unlock(&d->m); /* open */
}

static void close_(struct device *d) {
    pthread_mutex_lock(&d->m);
    d->users--; /* close */
    assert(d->users >= 0);
    pthread_mutex_unlock(&d->m);
}

#ifdef BUG
static const struct operations table = {.open = open_, .close = open_};
#else
static const struct operations table = {.open = open_, .close = close_};
#endif

static struct device device = {.operations = &table, .m = PTHREAD_MUTEX_INITIALIZER};

void *use(void *arg) {
    struct device *d = arg;
    d->operations->open(d); /* first */
    d->operations->close(d);
    return 0;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, use, &device);
    pthread_create(&b, 0, use, &device);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(device.users == 0);
    return 0;
}
