/* A stand-in for NVIDIA's libnvidia-ml.so.1, which the real pynvml loads in the tests. Environment:
   NVML_CARDS   how many cards (2)
   NVML_INIT    what nvmlInit returns (0)
   NVML_FAIL    "FUNCTION:CODE,..." what single functions return
   NVML_LOST    index of a card whose every call fails as "GPU is lost"
   NVML_MIG     index of a card that is cut into one slice; NVML_NO_SLICE: cut into none */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, LOST = 15 };
typedef struct { int index; int slice; } device;
typedef struct { unsigned long long total, free, used; } memory;
static device cards[64], slices[64];

static int number(const char *name, int otherwise) {
    const char *value = getenv(name);
    return value ? atoi(value) : otherwise;
}

static int failure(const char *function) {
    const char *list = getenv("NVML_FAIL");
    const char *found = list ? strstr(list, function) : NULL;
    return found && found[strlen(function)] == ':' ? atoi(found + strlen(function) + 1) : OK;
}

static int state(const char *function, device *card) {
    if (card->index == number("NVML_LOST", -1)) return LOST;
    return failure(function);
}

int nvmlInitWithFlags(unsigned flags) { return number("NVML_INIT", OK); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { return "imitated failure"; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) {
    snprintf(text, size, "580.65.06");
    return failure("nvmlSystemGetDriverVersion");
}
int nvmlSystemGetCudaDriverVersion(int *version) {
    *version = 13000;
    return failure("nvmlSystemGetCudaDriverVersion");
}
int nvmlDeviceGetCount_v2(unsigned *count) {
    *count = number("NVML_CARDS", 2);
    return failure("nvmlDeviceGetCount");
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **handle) {
    if (index >= (unsigned)number("NVML_CARDS", 2)) return INVALID;
    cards[index].index = slices[index].index = index;
    slices[index].slice = 1;
    *handle = &cards[index];
    return failure("nvmlDeviceGetHandleByIndex");
}
int nvmlDeviceGetHandleByUUID(const char *uuid, device **handle) {
    int mig = number("NVML_MIG", -1);
    if (mig < 0 || strcmp(uuid, "MIG-slice-0")) return NOT_FOUND;
    *handle = &slices[mig];
    return OK;
}
int nvmlDeviceGetName(device *card, char *text, unsigned size) {
    snprintf(text, size, "NVIDIA A100-SXM4-80GB%s", card->slice ? " MIG 3g.40gb" : "");
    return state("nvmlDeviceGetName", card);
}
int nvmlDeviceGetUUID(device *card, char *text, unsigned size) {
    snprintf(text, size, card->slice ? "MIG-slice-%d" : "GPU-%d0000000-aaaa", card->slice ? 0 : card->index);
    return state("nvmlDeviceGetUUID", card);
}
int nvmlDeviceGetIndex(device *card, unsigned *index) {
    *index = card->index;
    return state("nvmlDeviceGetIndex", card);
}
int nvmlDeviceGetMemoryInfo(device *card, memory *info) {
    info->total = (card->slice ? 40192ULL : 81920ULL) << 20;
    info->used = 1ULL << 30;
    info->free = info->total - info->used;
    return state("nvmlDeviceGetMemoryInfo", card);
}
int nvmlDeviceGetCudaComputeCapability(device *card, int *major, int *minor) {
    *major = 8;
    *minor = 0;
    return card->slice ? NOT_SUPPORTED : state("nvmlDeviceGetCudaComputeCapability", card);
}
int nvmlDeviceGetMigMode(device *card, unsigned *current, unsigned *pending) {
    int mig = number("NVML_MIG", -1);
    if (mig < 0) return NOT_SUPPORTED;
    *current = *pending = mig == card->index;
    return state("nvmlDeviceGetMigMode", card);
}
int nvmlDeviceGetMaxMigDeviceCount(device *card, unsigned *count) {
    *count = 7;
    return OK;
}
int nvmlDeviceGetMigDeviceHandleByIndex(device *card, unsigned index, device **slice) {
    if (getenv("NVML_NO_SLICE") || index != 0) return NOT_FOUND;
    *slice = &slices[card->index];
    return OK;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device *slice, device **card) {
    *card = &cards[slice->index];
    return OK;
}
