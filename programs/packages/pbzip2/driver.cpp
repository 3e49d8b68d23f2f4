// Drives pbzip2's pipeline (pbzip2.cpp, whose parts are static, so that the file is included here with another name for its `main`):
// a producer that reads blocks into the queue, consumers that take them from it, and the writer that puts them in order.
// Blocks are of two bytes and are copied instead of compressed: what is tested is how the threads work together.
//   -DTEST=1    compression, one consumer, two blocks
//   -DTEST=2    compression, two consumers, two blocks
//   -DTEST=3    the output of a stream in two parts, as decompression makes it: one consumer and the writer
//   -DTEST=4    compression, one consumer, two blocks, and an error elsewhere that ends everything
#define main pbzip2_main
#include "pbzip2.cpp"
#undef main
#include <assert.h>
#include <sys/mman.h>

#ifndef TEST
#define TEST 1
#endif

// In the place of the library's: the block as it is.
extern "C" int BZ2_bzBuffToBuffCompress(char *to, unsigned *size, char *from, unsigned length, int, int, int) {
	assert(*size >= length);
	memcpy(to, from, length);
	*size = length;
	return BZ_OK;
}

static void begin(int consumers, int blocks) {
	numCPU = consumers;
	OutputStdOut = 1;
	NumBufferedBlocksMax = blocks;
	LastGoodBlock = MinErrorBlock = -1;
	assert(mutexesInit() == 0);
	FifoQueue = queueInit(consumers);
	assert(FifoQueue != NULL);
	outputBufferInit(NumBufferedBlocksMax);
}

static void end(void) {
	queueDelete(FifoQueue);
	FifoQueue = NULL;
	mutexesDelete();
}

static int input(const char *text) {
	int file = memfd_create("input", 0);
	assert(file >= 0);
	assert(write(file, text, strlen(text)) == (ssize_t)strlen(text));
	lseek(file, 0, SEEK_SET);
	return file;
}

#if TEST == 3
static void *sequence(void *) {
	outBuff first(new char[2], 2, 0, 1);
	first.isLastInSequence = false;
	outBuff *head = outputBufferAdd(first, "driver");
	assert(head != NULL);
	outBuff *second = new outBuff(new char[2], 2, 0, 2);
	second->isLastInSequence = true;
	assert(outputBufferSeqAddNext(head, second) == second);
	return NULL;
}

int main() {
	begin(1, 1);
	pthread_t consumer, output;
	NumBlocks = 1;
	syncSetProducerDone(1);
	pthread_create(&consumer, NULL, sequence, NULL);
	pthread_create(&output, NULL, fileWriter, NULL);
	pthread_join(consumer, NULL);
	pthread_join(output, NULL);
	assert(NextBlockToWrite == 1);
	end();
	return 0;
}

#else
int main() {
	const int consumers = TEST == 2 ? 2 : 1;
	begin(consumers, 2);
	pthread_t output;
	for (int i = 0; i < consumers; i++)
		pthread_create(&FifoQueue->consumers[i], NULL, consumer, FifoQueue);
	pthread_create(&output, NULL, fileWriter, NULL);
#if TEST == 4
	pthread_t other;
	pthread_create(&other, NULL, [](void *) -> void * { syncSetTerminateFlag(1); return NULL; }, NULL);
#endif
	int done = producer(input("abcd"), 2, FifoQueue);
	pthread_join(output, NULL);
	for (int i = 0; i < consumers; i++)
		pthread_join(FifoQueue->consumers[i], NULL);
#if TEST == 4
	pthread_join(other, NULL);
	(void)done;
#else
	assert(done == 0);
	assert(NumBlocks == 2 && NextBlockToWrite == 2);
#endif
	end();
	return 0;
}
#endif
