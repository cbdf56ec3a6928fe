/* The functions that all wrappers of kernels share: arguments, results, memory, exceptions, and the module itself.
 * `wrappers.py` appends one wrapper for each kernel. docs/development/native.md explains both.
 *
 * No headers are included, so neither those of Python nor those of the C library have to be installed. The declarations
 * below are those of Python's stable ABI (3.11 and later), of NumPy's C API (1.x and 2.x), and of Numba.
 */

#define VISIBLE __attribute__((visibility("default")))
typedef long long word;
typedef struct { word references; void *type; } PyObject; /* not so in free-threaded Python, which loads no abi3 files */

/* ---- Python's stable ABI */

extern PyObject *PyExc_TypeError, *PyExc_ImportError, *PyExc_SystemError, PyBool_Type;
void Py_DecRef(PyObject *);
void *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
PyObject *PyErr_Format(PyObject *, const char *, ...), *PyErr_Occurred(void);
void PyErr_SetObject(PyObject *, PyObject *), PyErr_Clear(void);
unsigned long PyType_GetFlags(void *);
PyObject *PyTuple_GetItem(PyObject *, word);
word PyTuple_Size(PyObject *);
int PyObject_IsTrue(PyObject *);
PyObject *PyNumber_Index(PyObject *);
word PyLong_AsLongLong(PyObject *);
unsigned long long PyLong_AsUnsignedLongLong(PyObject *);
double PyFloat_AsDouble(PyObject *);
PyObject *Py_BuildValue(const char *, ...), *PyBool_FromLong(long), *PyBytes_FromStringAndSize(const char *, word);
PyObject *PyImport_ImportModule(const char *), *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyModule_Create2(void *, int);
int PyModule_AddStringConstant(PyObject *, const char *, const char *);

typedef struct { const char *name; PyObject *(*function)(PyObject *, PyObject **, word); word flags; char *doc; } Method;
typedef struct {
    PyObject head;
    void *base[3];
    const char *name, *doc;
    word size;
    Method *methods;
    void *slots, *traverse, *clear, *free;
} Module;
enum { FASTCALL = 0x80, TUPLE_SUBCLASS = 1 << 26, API_VERSION = 3 };

/* ---- NumPy: the fields of an array that its own macros read, and entries of its C API table */

typedef struct { PyObject head; void *type; char kind, letter, order, flags; int number; } Dtype;
typedef struct { PyObject head; void *data; int dims; word *shape, *strides; PyObject *base; Dtype *dtype; int flags; } Array;
typedef PyObject *NewArray(PyObject *, int, word *, int, word *, void *, int, int, PyObject *);
typedef int SetBase(PyObject *, PyObject *);
enum { INT64 = 7, UINT64 = 8, LONGLONG = 9 }; /* LONGLONG and its successor are other numbers of the first two */
enum { CONTIGUOUS = 0x1, ALIGNED = 0x100, WRITABLE = 0x400, ABI = 0, ARRAY_TYPE = 2, BOOL_TYPE = 8, NEW = 93, SET_BASE = 282 };
static void **numpy;

/* ---- Numba: the types of its results and exceptions, and the functions that compiled code calls */

typedef struct { word references; void *destroy, *inner, *data; word size; } Memory;
typedef struct { const char *pickled; int size; } Raised;
#define MADE(DIMS) struct { Memory *memory; void *parent; word items, item_size; void *data; word shape[DIMS], strides[DIMS]; }
enum { OK = 0, OK_NONE = -2 };

void *malloc(unsigned long);
void free(void *);

/* The memory of an array: a header with a reference count, then the data, aligned to 64 bytes. */
Memory *NRT_MemInfo_alloc(word size)
{
    Memory *made = malloc(sizeof(Memory) + 64 + size);
    if (made)
        *made = (Memory){1, 0, 0, (void *)(((word)(made + 1) + 63) & -64), size};
    return made;
}

Memory *NRT_MemInfo_alloc_aligned(word size, unsigned align) { return align <= 64 ? NRT_MemInfo_alloc(size) : 0; }

void *NRT_Allocate(word size) { return malloc(size); }
void NRT_Free(void *data) { free(data); }
void NRT_MemInfo_call_dtor(Memory *memory) { free(memory); } /* the last reference is gone */

static void let_go(PyObject *capsule) /* called with the GIL when NumPy has freed the array that held the reference */
{
    Memory *memory = PyCapsule_GetPointer(capsule, 0);
    if (--memory->references == 0)
        free(memory);
}

/* ---- arguments: exactly the types that the kernel was compiled for, or else a TypeError */

static PyObject *refused(const char *kernel, int argument, const char *wanted)
{
    return PyErr_Format(PyExc_TypeError, "%s: argument %d must be %s", kernel, argument + 1, wanted);
}

static Array *array_of(PyObject *given, int dims, int number, int flags)
{
    Array *array = (Array *)given;
    if (given->type != numpy[ARRAY_TYPE] || array->dims != dims || (array->flags & flags) != flags)
        return 0;
    int same = array->dtype->number == number || (number == INT64 && array->dtype->number == LONGLONG)
        || (number == UINT64 && array->dtype->number == LONGLONG + 1);
    return same && array->dtype->order != '>' ? array : 0;
}

static int is_tuple(PyObject *given, word size)
{
    return (PyType_GetFlags(given->type) & TUPLE_SUBCLASS) && PyTuple_Size(given) == size;
}

static int truth_of(PyObject *given, unsigned char *to)
{
    if (given->type != &PyBool_Type && given->type != numpy[BOOL_TYPE])
        return 0;
    *to = PyObject_IsTrue(given) == 1;
    return 1;
}

static int real_of(PyObject *given, double *to)
{
    *to = PyFloat_AsDouble(given);
    return *to != -1 || !PyErr_Occurred();
}

static int whole_of(PyObject *given, word *to, int is_signed)
{
    PyObject *whole = PyNumber_Index(given);
    if (!whole)
        return 0;
    *to = is_signed ? PyLong_AsLongLong(whole) : (word)PyLong_AsUnsignedLongLong(whole);
    Py_DecRef(whole);
    return *to != -1 || !PyErr_Occurred();
}

/* ---- results */

/* Returns a NumPy array over the memory of a kernel's result, and keeps the reference to it. */
static PyObject *array_from(Memory *memory, void *data, int dims, word *shape, int number)
{
    PyObject *owner = PyCapsule_New(memory, 0, let_go); /* ValueError if there is none, as in an argument */
    if (!owner)
        return 0;
    int flags = CONTIGUOUS | ALIGNED | WRITABLE;
    PyObject *array = ((NewArray *)numpy[NEW])(numpy[ARRAY_TYPE], dims, shape, number, 0, data, 0, flags, 0);
    if (!array)
        Py_DecRef(owner);
    else
        ((SetBase *)numpy[SET_BASE])(array, owner);
    return array;
}

/* Raises the exception of a kernel, which Numba has pickled as (class, arguments, place). */
static PyObject *raise(const Raised *raised)
{
    if (!raised)
        return PyErr_Format(PyExc_SystemError, "a kernel failed without an exception");
    PyObject *pickle = PyImport_ImportModule("pickle");
    PyObject *bytes = PyBytes_FromStringAndSize(raised->pickled, raised->size);
    PyObject *told = pickle && bytes ? PyObject_CallMethod(pickle, "loads", "O", bytes) : 0;
    if (told)
        PyErr_SetObject(PyTuple_GetItem(told, 0), PyTuple_GetItem(told, 1));
    Py_DecRef(pickle), Py_DecRef(bytes), Py_DecRef(told); /* NULL is allowed */
    return 0;
}

/* ---- the module */

#ifdef __x86_64__
#include <cpuid.h> /* the compiler's own */
/* Returns whether the processor and the system support x86-64-v3 (psABI of x86-64, section 3.1.1). */
static int runs_here(void)
{
    const unsigned v2 = bit_SSE3 | bit_SSSE3 | bit_CMPXCHG16B | bit_SSE4_1 | bit_SSE4_2 | bit_POPCNT;
    const unsigned v3 = v2 | bit_FMA | bit_MOVBE | bit_OSXSAVE | bit_AVX | bit_F16C, more = bit_BMI | bit_AVX2 | bit_BMI2;
    unsigned a, b, c, d, saved;
    int fits = __get_cpuid(1, &a, &b, &c, &d) && (c & v3) == v3;
    if (fits)
        __asm__ volatile("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    fits = fits && (saved & 6) == 6 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & more) == more;
    return fits && __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
#else
static int runs_here(void) { return 1; } /* the code is for all aarch64 processors */
#endif

static PyObject *start(Module *module, const char *sources)
{
    if (!runs_here())
        return PyErr_Format(PyExc_ImportError, "it has no full support for AVX2");
    PyObject *inner = PyImport_ImportModule("numpy._core._multiarray_umath");
    if (!inner) { /* NumPy 1 */
        PyErr_Clear();
        inner = PyImport_ImportModule("numpy.core._multiarray_umath");
    }
    PyObject *table = inner ? PyObject_GetAttrString(inner, "_ARRAY_API") : 0;
    numpy = table ? PyCapsule_GetPointer(table, 0) : 0;
    if (numpy && ((unsigned (*)(void))numpy[ABI])() >= 0x3000000)
        return PyErr_Format(PyExc_ImportError, "its NumPy is newer than the library");
    PyObject *made = numpy ? PyModule_Create2(module, API_VERSION) : 0;
    return made && PyModule_AddStringConstant(made, "SOURCES", sources) == 0 ? made : 0;
}
