/* Launches that were checked before: compares a call with what was remembered and hands it to the driver.
 *
 * Nothing is decided here that the Python path does not decide as well: where anything at all differs from a remembered
 * call, or a call fails, the answer is False and the Python path takes over, which checks everything and says what is
 * wrong. So no error is ever raised from here during a launch, and no message is made here.
 *
 * The structures are the public ones of DLPack 1.x (a type's exchange table and the tensor description) and of the CUDA
 * driver (CUlaunchConfig).
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { MOST_CALLS = 8, MOST_ARGUMENTS = 32, MOST_PARAMETERS = 64, MOST_AXES = 16 };

typedef struct {
    void *data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct {
    uint32_t major, minor;
    void *previous;
    void *allocate, *managed_from_object, *object_from_managed;
    int (*tensor_from_object)(void *object, Tensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} Exchange;

typedef struct {
    uint32_t grid[3], block[3], shared;
    void *stream, *attributes;
    uint32_t count;
} Config;

typedef int (*LaunchFunction)(const Config *, void *function, void **parameters, void **extra);
typedef int (*CurrentFunction)(void **context);

/* One argument as it was: kind 't' an object with an exchange table, 'c' a CuPy array, 'i' 'f' 'b' scalars. */
typedef struct {
    int kind, fixed, live, written; /* live: it has elements; fixed: the value is `exact` */
    PyObject *type, *dtype, *shape, *strides, *ask; /* ask: is_neg of a tensor type, get_current_stream of CuPy */
    const Exchange *exchange;
    Tensor as;
    int64_t sizes[MOST_AXES], steps[MOST_AXES];
    unsigned long long align, exact;
    long long low, high; /* bytes relative to the address, or the range of an integer */
} Argument;

typedef struct {
    int from; /* argument, or -1 for a constant */
    int format;
    unsigned long long constant;
} Parameter;

typedef struct {
    PyObject_HEAD
    PyObject *keep, *given; /* what the configuration and the arguments point into */
    uint64_t kernel, context;
    Config config;
    Py_ssize_t arguments, parameters;
    Argument argument[MOST_ARGUMENTS];
    Parameter parameter[MOST_PARAMETERS];
} Call;

typedef struct {
    PyObject_HEAD
    LaunchFunction launch;
    CurrentFunction current;
    Call *calls[MOST_CALLS]; /* the latest first */
} Calls;

static PyTypeObject CallType, CallsType;
static PyObject *name_data, *name_ptr, *name_device_id, *name_dtype, *name_shape, *name_strides;

static const Exchange *exchange_of(PyObject *capsule) {
    const Exchange *table = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (table == NULL || (table->major == 1 && table->tensor_from_object && table->current_stream)) return table;
    return PyErr_SetString(PyExc_ValueError, "this exchange table is of another version"), NULL;
}

/* -- comparing -------------------------------------------------------------------------------------------------- */

static int same_tensor(const Argument *was, PyObject *object, uint64_t *address) {
    Tensor now;
    if (was->exchange->tensor_from_object(object, &now) != 0) return 0;
    if (now.device_type != was->as.device_type || now.device_id != was->as.device_id || now.ndim != was->as.ndim
        || now.code != was->as.code || now.bits != was->as.bits || now.lanes != 1 || (now.ndim && !now.strides))
        return 0;
    for (int32_t axis = 0; axis < now.ndim; axis++)
        if (now.shape[axis] != was->sizes[axis] || now.strides[axis] != was->steps[axis]) return 0;
    *address = (uint64_t)(uintptr_t)now.data + now.byte_offset;
    if (was->ask != Py_None) { /* a lazily negated tensor: its memory does not hold its values */
        PyObject *negated = PyObject_CallOneArg(was->ask, object);
        int plain = negated == Py_False;
        Py_XDECREF(negated);
        return plain;
    }
    return 1;
}

static int read_number(PyObject *object, PyObject *name, uint64_t *out) {
    PyObject *value = PyObject_GetAttr(object, name);
    if (value == NULL) return 0;
    *out = PyLong_AsUnsignedLongLong(value);
    Py_DECREF(value);
    return !(*out == (uint64_t)-1 && PyErr_Occurred());
}

static int same_attribute(PyObject *object, PyObject *name, PyObject *was) {
    PyObject *now = PyObject_GetAttr(object, name);
    int same = now != NULL && (now == was || PyObject_RichCompareBool(now, was, Py_EQ) == 1);
    Py_XDECREF(now);
    return same;
}

static int same_cupy(const Argument *was, PyObject *object, uint64_t *address) {
    PyObject *now = PyObject_GetAttr(object, name_dtype);
    int same = now == was->dtype; /* dtypes of plain elements are single objects */
    Py_XDECREF(now);
    if (!same || !same_attribute(object, name_shape, was->shape) || !same_attribute(object, name_strides, was->strides))
        return 0;
    PyObject *data = PyObject_GetAttr(object, name_data);
    uint64_t device = 0;
    same = data != NULL && read_number(data, name_ptr, address) && read_number(data, name_device_id, &device)
        && device == (uint64_t)was->as.device_id;
    Py_XDECREF(data);
    return same;
}

static int same_integer(const Argument *was, PyObject *object, uint64_t *bits) {
    int over = 0;
    if (was->kind == 'b') {
        if (object != Py_True && object != Py_False) return 0;
        *bits = object == Py_True;
    } else {
        if (!PyLong_CheckExact(object)) return 0;
        int64_t value = PyLong_AsLongLongAndOverflow(object, &over);
        if (over || value < was->low || value > was->high) return 0;
        *bits = (uint64_t)value;
    }
    return !was->fixed || *bits == was->exact;
}

static int same_float(const Argument *was, PyObject *object, uint64_t *bits) {
    double value;
    if (!PyFloat_CheckExact(object) && !PyLong_CheckExact(object)) return 0;
    value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred()) return 0;
    memcpy(bits, &value, 8);
    return !was->fixed || *bits == was->exact;
}

/* 1 where every argument is as it was; `value` gets addresses and numbers. */
static int matches(const Call *call, PyObject *const *given, uint64_t *value) {
    for (Py_ssize_t k = 0; k < call->arguments; k++) {
        const Argument *was = &call->argument[k];
        PyObject *object = given[k];
        switch (was->kind) {
        case 't':
        case 'c':
            if ((PyObject *)Py_TYPE(object) != was->type) return 0;
            if (!(was->kind == 't' ? same_tensor : same_cupy)(was, object, &value[k])) return 0;
            if (!was->live) break;
            if (value[k] == 0 || value[k] % was->align) return 0;
            for (Py_ssize_t j = 0; j < k; j++) {
                const Argument *other = &call->argument[j];
                if ((other->kind != 't' && other->kind != 'c') || !other->live || !(was->written || other->written))
                    continue;
                if (value[k] + was->low < value[j] + other->high && value[j] + other->low < value[k] + was->high)
                    return 0;
            }
            break;
        case 'f':
            if (!same_float(was, object, &value[k])) return 0;
            break;
        default:
            if (!same_integer(was, object, &value[k])) return 0;
        }
    }
    return 1;
}

/* -- launching -------------------------------------------------------------------------------------------------- */

static int find_stream(const Call *call, PyObject *stream, void **out) {
    uint64_t handle = 0;
    if (stream != Py_None) {
        handle = PyLong_AsUnsignedLongLong(stream);
        *out = (void *)(uintptr_t)handle;
        return !(handle == (uint64_t)-1 && PyErr_Occurred());
    }
    *out = NULL;
    for (Py_ssize_t k = 0; k < call->arguments; k++) {
        const Argument *first = &call->argument[k];
        if (first->kind == 't')
            return first->exchange->current_stream(first->as.device_type, first->as.device_id, out) == 0;
        if (first->kind == 'c') { /* CuPy keeps the stream as an object with `ptr` */
            PyObject *current = PyObject_CallFunction(first->ask, "i", (int)first->as.device_id);
            int fine = current != NULL && read_number(current, name_ptr, &handle);
            Py_XDECREF(current);
            *out = (void *)(uintptr_t)handle;
            return fine;
        }
    }
    return 1;
}

static int pack(const Call *call, const uint64_t *value, uint64_t *block, void **places) {
    for (Py_ssize_t k = 0; k < call->parameters; k++) {
        const Parameter *parameter = &call->parameter[k];
        places[k] = &block[k];
        block[k] = parameter->from < 0 ? parameter->constant : value[parameter->from];
        if (parameter->from < 0 || (parameter->format != 'f' && parameter->format != 'e')) continue;
        double number;
        memcpy(&number, &block[k], 8);
        /* Too large for the type: -1, and the full way says so. */
        if ((parameter->format == 'f' ? PyFloat_Pack4 : PyFloat_Pack2)(number, (char *)&block[k], PY_LITTLE_ENDIAN) < 0)
            return 0;
    }
    return 1;
}

static int run(const Calls *self, const Call *call, PyObject *const *given, PyObject *stream) {
    uint64_t value[MOST_ARGUMENTS], block[MOST_PARAMETERS];
    void *places[MOST_PARAMETERS], *context = NULL;
    Config config = call->config;
    int status;
    if (!matches(call, given, value)) return 0;
    if (!find_stream(call, stream, &config.stream) || !pack(call, value, block, places)) return 0;
    /* A kernel of a library runs in whichever context is current, so a wrong one must be seen before. */
    if (self->current(&context) != 0 || (uint64_t)(uintptr_t)context != call->context) return 0;
    Py_BEGIN_ALLOW_THREADS /* a full queue makes the driver wait, perhaps for a host function that needs Python */
    status = self->launch(&config, (void *)(uintptr_t)call->kernel, call->parameters ? places : NULL, NULL);
    Py_END_ALLOW_THREADS
    return status == 0;
}

static PyObject *calls_launch(Calls *self, PyObject *const *args, Py_ssize_t count) {
    if (count != 2 || !PyTuple_CheckExact(args[0]))
        return PyErr_SetString(PyExc_TypeError, "launch(arguments: tuple, stream: int | None)"), NULL;
    Py_ssize_t given = PyTuple_GET_SIZE(args[0]);
    for (int k = 0; k < MOST_CALLS && self->calls[k] != NULL; k++) {
        Call *call = self->calls[k];
        if (call->arguments != given) continue;
        Py_INCREF(call); /* another thread may forget it meanwhile */
        int done = run(self, call, &PyTuple_GET_ITEM(args[0], 0), args[1]);
        if (done && k > 0 && self->calls[k] == call) { /* what was used last is asked first */
            memmove(&self->calls[1], &self->calls[0], (size_t)k * sizeof(Call *));
            self->calls[0] = call;
        }
        Py_DECREF(call);
        if (done) Py_RETURN_TRUE;
        PyErr_Clear();
    }
    Py_RETURN_FALSE;
}

/* -- remembering ------------------------------------------------------------------------------------------------ */

static int read_axes(PyObject *tuple, int64_t *out, int32_t *count) {
    Py_ssize_t size = PyTuple_GET_SIZE(tuple);
    if (size > MOST_AXES) return PyErr_SetString(PyExc_ValueError, "too many axes"), 0;
    for (Py_ssize_t axis = 0; axis < size; axis++) {
        out[axis] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, axis));
        if (out[axis] == -1 && PyErr_Occurred()) return 0;
    }
    *count = (int32_t)size;
    return 1;
}

/* ("t" | "c", type, exchange or None, dtype or None, is_neg or None or get_current_stream, device type, device, code,
 *  bits, shape, strides, align, low, high, live, written), ("i" | "f" | "b", fixed, low, high, exact bits) */
static int read_argument(PyObject *from, Argument *to) {
    PyObject *capsule = NULL;
    int32_t axes = 0;
    if (!PyTuple_Check(from)) return PyErr_SetString(PyExc_TypeError, "an argument is a tuple"), 0;
    if (PyTuple_GET_SIZE(from) == 5) {
        if (!PyArg_ParseTuple(from, "CpLLK", &to->kind, &to->fixed, &to->low, &to->high, &to->exact)) return 0;
    } else {
        if (!PyArg_ParseTuple(from, "CO!OOOiibbO!O!KLLpp", &to->kind, &PyType_Type, &to->type, &capsule, &to->dtype,
                              &to->ask, &to->as.device_type, &to->as.device_id, &to->as.code, &to->as.bits,
                              &PyTuple_Type, &to->shape, &PyTuple_Type, &to->strides, &to->align, &to->low, &to->high,
                              &to->live, &to->written)
            || !read_axes(to->shape, to->sizes, &to->as.ndim) || !read_axes(to->strides, to->steps, &axes))
            return 0;
        if (to->kind == 't' && (to->exchange = exchange_of(capsule)) == NULL) return 0;
    }
    if (strchr(capsule ? "tc" : "ifb", to->kind) == NULL || axes != to->as.ndim || (capsule && to->align == 0))
        return PyErr_SetString(PyExc_ValueError, "no such argument"), 0;
    return 1;
}

static void call_dealloc(Call *call) {
    Py_XDECREF(call->keep);
    Py_XDECREF(call->given);
    PyObject_Free(call);
}

static PyObject *calls_remember(Calls *self, PyObject *args) {
    unsigned long long kernel, context, config;
    PyObject *keep, *arguments, *parameters;
    if (!PyArg_ParseTuple(args, "KKKOO!O!", &kernel, &context, &config, &keep, &PyTuple_Type, &arguments, &PyTuple_Type,
                          &parameters))
        return NULL;
    if (PyTuple_GET_SIZE(arguments) > MOST_ARGUMENTS || PyTuple_GET_SIZE(parameters) > MOST_PARAMETERS) Py_RETURN_FALSE;
    for (int k = 0; k < MOST_CALLS && self->calls[k] != NULL; k++) { /* equal arguments make an equal call */
        int same = PyObject_RichCompareBool(self->calls[k]->given, arguments, Py_EQ);
        if (same) return same < 0 ? NULL : Py_NewRef(Py_True);
    }
    Call *call = PyObject_New(Call, &CallType);
    if (call == NULL) return NULL;
    memset((char *)call + sizeof(PyObject), 0, sizeof(Call) - sizeof(PyObject));
    call->kernel = kernel, call->context = context;
    memcpy(&call->config, (const void *)(uintptr_t)config, sizeof(Config));
    call->keep = Py_NewRef(keep);
    call->given = Py_NewRef(arguments);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(arguments); k++) {
        if (!read_argument(PyTuple_GET_ITEM(arguments, k), &call->argument[k])) goto wrong;
        call->arguments = k + 1;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(parameters); k++) {
        Parameter *to = &call->parameter[k];
        PyObject *from = PyTuple_GET_ITEM(parameters, k);
        if (!PyArg_ParseTuple(from, "iCK", &to->from, &to->format, &to->constant)) goto wrong;
        if (to->from < -1 || to->from >= call->arguments) {
            PyErr_SetString(PyExc_IndexError, "no such argument");
            goto wrong;
        }
        call->parameters = k + 1;
    }
    Call *oldest = self->calls[MOST_CALLS - 1];
    memmove(&self->calls[1], &self->calls[0], (MOST_CALLS - 1) * sizeof(Call *));
    self->calls[0] = call;
    Py_XDECREF(oldest);
    Py_RETURN_TRUE;
wrong:
    Py_DECREF(call);
    return NULL;
}

static PyObject *calls_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    unsigned long long launch, current;
    if (!PyArg_ParseTuple(args, "KK", &launch, &current)) return NULL;
    Calls *self = (Calls *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->launch = (LaunchFunction)(uintptr_t)launch, self->current = (CurrentFunction)(uintptr_t)current;
    return (PyObject *)self;
}

static void calls_dealloc(Calls *self) {
    for (int k = 0; k < MOST_CALLS; k++) Py_XDECREF(self->calls[k]);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef calls_methods[] = {
    {"launch", (PyCFunction)(void (*)(void))calls_launch, METH_FASTCALL, "Launch a call that was remembered."},
    {"remember", (PyCFunction)calls_remember, METH_VARARGS, "Remember a call that passed every check."},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ptxspec.backend.native._calls.Call",
    .tp_basicsize = sizeof(Call),
    .tp_dealloc = (destructor)call_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static PyTypeObject CallsType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "ptxspec.backend.native._calls.Calls",
    .tp_doc = "Calls(launch, current): the checked calls of one kernel; addresses of two driver functions.",
    .tp_basicsize = sizeof(Calls),
    .tp_new = calls_new,
    .tp_dealloc = (destructor)calls_dealloc,
    .tp_methods = calls_methods,
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_calls", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__calls(void) {
    name_data = PyUnicode_InternFromString("data");
    name_ptr = PyUnicode_InternFromString("ptr");
    name_device_id = PyUnicode_InternFromString("device_id");
    name_dtype = PyUnicode_InternFromString("dtype");
    name_shape = PyUnicode_InternFromString("shape");
    name_strides = PyUnicode_InternFromString("strides");
    if (PyErr_Occurred()) return NULL;
    if (PyType_Ready(&CallType) < 0 || PyType_Ready(&CallsType) < 0) return NULL;
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && (PyModule_AddIntConstant(module, "FORM", 1) < 0
                           || PyModule_AddObjectRef(module, "Calls", (PyObject *)&CallsType) < 0))
        Py_CLEAR(module);
    return module;
}
