/* A mechanism as an FMI 3.0 co-simulation unit: the interface around the compiled kernel.
 *
 * The kernel is `entry(block)`: it advances one member, a row of numbers, by some steps.  `unit.h` is written by the
 * export: sizes, the places of variables in the row, their values at the start.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define EXPORT __attribute__((visibility("default")))

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef unsigned int fmi3ValueReference;
typedef const char *fmi3String;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*fmi3LogMessageCallback)(fmi3InstanceEnvironment, fmi3Status, fmi3String, fmi3String);
typedef void (*fmi3IntermediateUpdateCallback)(void);

extern void entry(void *block);

typedef enum { INSTANTIATED, INITIALISING, STEPPING, ENDED } State;

typedef struct {
    double row[ROW];
    double p[PARAMETERS_ALL];
    double impacts_before[CONTACTS + 1];
    double time, start;
    int64_t steps;
    State state;
} Content;

typedef struct {
    Content now;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
} Unit;

static fmi3Status say(Unit *unit, fmi3Status status, const char *format, ...) {
    char text[400];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (unit->log) unit->log(unit->environment, status, status >= fmi3Error ? "logStatusError" : "logStatusWarning", text);
    return status;
}

static void begin(Content *now) {
    memset(now, 0, sizeof *now);
    memcpy(now->row, ROW_AT_START, sizeof now->row);
    memcpy(now->p, P_AT_START, sizeof now->p);
}

/* Advance the row by some steps; the kernel's arguments are rows (1, ROW), P (1, PARAMETERS_ALL), and what is asked. */
static void advance(Content *now, int64_t steps) {
    union { int64_t whole; double real; void *address; } block[16];
    memset(block, 0, sizeof block);
    block[0].address = now->row;
    block[1].whole = 1;
    block[2].whole = ROW;
    block[3].address = now->p;
    block[4].whole = 1;
    block[5].whole = PARAMETERS_ALL;
    block[6].real = STEP;
    block[7].whole = steps;
    block[8].whole = SWEEPS;
    block[9].real = TOLERANCE;
    block[10].real = DEPTH;
    entry(block);
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT fmi3Status fmi3SetDebugLogging(fmi3Instance instance, bool on, size_t n, const fmi3String categories[]) {
    (void)instance, (void)on, (void)n, (void)categories;
    return fmi3OK;
}

EXPORT fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, bool visible, bool logging, bool event_mode,
    bool early_return, const fmi3ValueReference required[], size_t n_required, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return, (void)required;
    (void)n_required, (void)update;
    Unit *unit = calloc(1, sizeof *unit);
    if (!unit) return NULL;
    unit->environment = environment;
    unit->log = log;
    if (!token || strcmp(token, TOKEN)) {
        say(unit, fmi3Error, "the instantiation token is of another unit");
        free(unit);
        return NULL;
    }
    begin(&unit->now);
    return unit;
}

EXPORT fmi3Instance fmi3InstantiateModelExchange(fmi3String a, fmi3String b, fmi3String c, bool d, bool e, void *f, void *g) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
    return NULL;
}

EXPORT fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String a, fmi3String b, fmi3String c, bool d, bool e, void *f, void *g, void *h, void *i, void *j) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    return NULL;
}

EXPORT void fmi3FreeInstance(fmi3Instance instance) { free(instance); }

EXPORT fmi3Status fmi3EnterInitializationMode(
    fmi3Instance instance, bool tolerance_defined, double tolerance, double start, bool stop_defined, double stop) {
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    Unit *unit = instance;
    if (unit->now.state != INSTANTIATED) return say(unit, fmi3Error, "the unit has begun already");
    if (TIME_MATTERS && start != 0.0) return say(unit, fmi3Error, "this motion depends on time: it must begin at t = 0");
    unit->now.time = unit->now.start = start;
    unit->now.state = INITIALISING;
    return fmi3OK;
}

EXPORT fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    Unit *unit = instance;
    if (unit->now.state != INITIALISING) return say(unit, fmi3Error, "the unit is not in initialization mode");
    advance(&unit->now, 0);
    if (unit->now.row[STATUS] != 0.0)
        return say(unit, fmi3Error, "%s at the start", REASONS[(int)unit->now.row[STATUS]]);
    unit->now.state = STEPPING;
    return fmi3OK;
}

EXPORT fmi3Status fmi3Terminate(fmi3Instance instance) {
    ((Unit *)instance)->now.state = ENDED;
    return fmi3OK;
}

EXPORT fmi3Status fmi3Reset(fmi3Instance instance) {
    begin(&((Unit *)instance)->now);
    return fmi3OK;
}

EXPORT fmi3Status fmi3DoStep(
    fmi3Instance instance, double now, double length, bool no_return, bool *event, bool *terminate, bool *early,
    double *last) {
    (void)no_return;
    Unit *unit = instance;
    Content *content = &unit->now;
    *event = *terminate = *early = false;
    *last = content->time;
    if (content->state != STEPPING) return say(unit, fmi3Error, "a step needs a unit that has left initialization mode");
    double steps = (now + length - content->start) / STEP;
    int64_t end = (int64_t)llround(steps);
    if (!(length > 0.0) || fabs(steps - (double)end) > 1e-6 * (1.0 + fabs(steps)) || end < content->steps)
        return say(unit, fmi3Error, "a step must be a whole number of internal steps of %.17g s, got %.17g s", STEP, length);
    for (int k = 0; k < CONTACTS; k++) content->impacts_before[k] = content->row[IMPACTS + k];
    if (end > content->steps) advance(content, end - content->steps);
    content->steps = (int64_t)content->row[STEPS_DONE];
    content->time = content->start + (double)content->steps * STEP;
    *last = content->time;
    if (content->row[STATUS] == LAW_OUT_OF_RANGE) {  /* no step was done: other parameters let it go on */
        content->row[STATUS] = 0.0;
        *last = content->time;
        return say(unit, fmi3Error, "%s at t = %.9g s", REASONS[LAW_OUT_OF_RANGE], content->time);
    }
    if (content->row[STATUS] != 0.0) {
        *terminate = true;
        return say(unit, fmi3Error, "%s at t = %.9g s", REASONS[(int)content->row[STATUS]], content->time);
    }
    *last = now + length;
    return fmi3OK;
}

/* -- values ------------------------------------------------------------------------------------------------------- */

EXPORT fmi3Status fmi3GetFloat64(
    fmi3Instance instance, const fmi3ValueReference vr[], size_t n, double values[], size_t n_values) {
    Unit *unit = instance;
    Content *now = &unit->now;
    (void)n_values;
    for (size_t i = 0; i < n; i++) {
        fmi3ValueReference k = vr[i];
        if (k == 0) values[i] = now->time;
        else if (k >= FIRST_P && k < FIRST_P + PARAMETERS) values[i] = now->p[k - FIRST_P];
        else if (k >= FIRST_STATE && k < FIRST_STATE + 2 * DOF) values[i] = now->row[k - FIRST_STATE];
        else if (k >= FIRST_IMPULSE && k < FIRST_IMPULSE + CONTACTS) values[i] = now->row[IMPULSE + k - FIRST_IMPULSE];
        else if (k >= FIRST_ENERGY && k < FIRST_ENERGY + 2) values[i] = now->row[ENERGY + k - FIRST_ENERGY];
        else if (k == RESIDUAL_REFERENCE) values[i] = now->row[RESIDUAL];
        else if (k == PENETRATION_REFERENCE) values[i] = now->row[PENETRATION];
        else return say(unit, fmi3Error, "there is no Float64 with value reference %u", k);
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFloat64(
    fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const double values[], size_t n_values) {
    Unit *unit = instance;
    Content *now = &unit->now;
    (void)n_values;
    for (size_t i = 0; i < n; i++) {  /* all are looked at before one is changed */
        fmi3ValueReference k = vr[i];
        bool parameter = k >= FIRST_P && k < FIRST_P + PARAMETERS, start = k >= FIRST_STATE && k < FIRST_STATE + 2 * DOF;
        if (!isfinite(values[i])) return say(unit, fmi3Error, "the value of variable %u must be finite", k);
        if (start && (now->state > INITIALISING || START_IS_FIXED))
            return say(unit, fmi3Error, "coordinates and velocities can be set before the first step alone");
        if (!parameter && !start) return say(unit, fmi3Error, "the Float64 with value reference %u cannot be set", k);
    }
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= FIRST_STATE) now->row[vr[i] - FIRST_STATE] = values[i];
        else now->p[vr[i] - FIRST_P] = values[i];
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetBoolean(
    fmi3Instance instance, const fmi3ValueReference vr[], size_t n, bool values[], size_t n_values) {
    Unit *unit = instance;
    Content *now = &unit->now;
    (void)n_values;
    for (size_t i = 0; i < n; i++) {
        fmi3ValueReference k = vr[i];
        if (k >= FIRST_STRUCK && k < FIRST_STRUCK + CONTACTS)
            values[i] = now->row[IMPACTS + k - FIRST_STRUCK] > now->impacts_before[k - FIRST_STRUCK];
        else if (k >= FIRST_LOADED && k < FIRST_LOADED + CONTACTS) values[i] = now->row[IMPULSE + k - FIRST_LOADED] != 0.0;
        else return say(unit, fmi3Error, "there is no Boolean with value reference %u", k);
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3GetInt64(
    fmi3Instance instance, const fmi3ValueReference vr[], size_t n, int64_t values[], size_t n_values) {
    Unit *unit = instance;
    Content *now = &unit->now;
    (void)n_values;
    for (size_t i = 0; i < n; i++) {
        fmi3ValueReference k = vr[i];
        if (k >= FIRST_COUNT && k < FIRST_COUNT + CONTACTS) values[i] = (int64_t)now->row[IMPACTS + k - FIRST_COUNT];
        else if (k == FAILED_REFERENCE) values[i] = (int64_t)now->row[FAILED];
        else return say(unit, fmi3Error, "there is no Int64 with value reference %u", k);
    }
    return fmi3OK;
}

/* Kinds of variables that the unit has none of. */
#define NONE_OF(NAME, TYPE) \
    EXPORT fmi3Status fmi3Get##NAME(fmi3Instance u, const fmi3ValueReference r[], size_t n, TYPE v[], size_t m) { \
        (void)r, (void)v, (void)m; \
        return n ? say(u, fmi3Error, "there is no variable of type " #NAME) : fmi3OK; \
    } \
    EXPORT fmi3Status fmi3Set##NAME(fmi3Instance u, const fmi3ValueReference r[], size_t n, const TYPE v[], size_t m) { \
        (void)r, (void)v, (void)m; \
        return n ? say(u, fmi3Error, "no variable of type " #NAME " can be set") : fmi3OK; \
    }
#define CANNOT_BE_SET(NAME, TYPE) \
    EXPORT fmi3Status fmi3Set##NAME(fmi3Instance u, const fmi3ValueReference r[], size_t n, const TYPE v[], size_t m) { \
        (void)r, (void)v, (void)m; \
        return n ? say(u, fmi3Error, "no variable of type " #NAME " can be set") : fmi3OK; \
    }
NONE_OF(Float32, float)
NONE_OF(Int8, int8_t)
NONE_OF(UInt8, uint8_t)
NONE_OF(Int16, int16_t)
NONE_OF(UInt16, uint16_t)
NONE_OF(Int32, int32_t)
NONE_OF(UInt32, uint32_t)
NONE_OF(UInt64, uint64_t)
NONE_OF(String, fmi3String)
CANNOT_BE_SET(Boolean, bool)
CANNOT_BE_SET(Int64, int64_t)

/* -- states ------------------------------------------------------------------------------------------------------- */

EXPORT fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *state) {
    if (!*state) *state = malloc(sizeof(Content));
    if (!*state) return fmi3Error;
    memcpy(*state, &((Unit *)instance)->now, sizeof(Content));
    return fmi3OK;
}

EXPORT fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState state) {
    if (!state) return fmi3Error;
    memcpy(&((Unit *)instance)->now, state, sizeof(Content));
    return fmi3OK;
}

EXPORT fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *state) {
    (void)instance;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState state, size_t *size) {
    (void)instance, (void)state;
    *size = sizeof(Content);
    return fmi3OK;
}

EXPORT fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState state, uint8_t bytes[], size_t size) {
    if (size != sizeof(Content)) return say(instance, fmi3Error, "a state has %zu bytes, got %zu", sizeof(Content), size);
    memcpy(bytes, state, size);
    return fmi3OK;
}

EXPORT fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const uint8_t bytes[], size_t size, fmi3FMUState *state) {
    if (size != sizeof(Content)) return say(instance, fmi3Error, "a state has %zu bytes, got %zu", sizeof(Content), size);
    if (!*state) *state = malloc(size);
    if (!*state) return fmi3Error;
    memcpy(*state, bytes, size);
    return fmi3OK;
}

/* Functions of the standard that this kind of unit does not have; the description says so. */
#define NOT_HERE(NAME) \
    EXPORT fmi3Status fmi3##NAME(fmi3Instance u) { return say(u, fmi3Error, "fmi3" #NAME " is not part of this unit"); }
NOT_HERE(EnterEventMode)
NOT_HERE(GetBinary)
NOT_HERE(SetBinary)
NOT_HERE(GetClock)
NOT_HERE(SetClock)
NOT_HERE(GetNumberOfVariableDependencies)
NOT_HERE(GetVariableDependencies)
NOT_HERE(GetDirectionalDerivative)
NOT_HERE(GetAdjointDerivative)
NOT_HERE(EnterConfigurationMode)
NOT_HERE(ExitConfigurationMode)
NOT_HERE(GetIntervalDecimal)
NOT_HERE(GetIntervalFraction)
NOT_HERE(GetShiftDecimal)
NOT_HERE(GetShiftFraction)
NOT_HERE(SetIntervalDecimal)
NOT_HERE(SetIntervalFraction)
NOT_HERE(SetShiftDecimal)
NOT_HERE(SetShiftFraction)
NOT_HERE(EvaluateDiscreteStates)
NOT_HERE(UpdateDiscreteStates)
NOT_HERE(EnterContinuousTimeMode)
NOT_HERE(CompletedIntegratorStep)
NOT_HERE(SetTime)
NOT_HERE(SetContinuousStates)
NOT_HERE(GetContinuousStateDerivatives)
NOT_HERE(GetEventIndicators)
NOT_HERE(GetContinuousStates)
NOT_HERE(GetNominalsOfContinuousStates)
NOT_HERE(GetNumberOfEventIndicators)
NOT_HERE(GetNumberOfContinuousStates)
NOT_HERE(EnterStepMode)
NOT_HERE(GetOutputDerivatives)
NOT_HERE(ActivateModelPartition)
