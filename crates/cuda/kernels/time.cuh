// Time of an evaluation, as jostle_core::StageTime has it, and places of walls then.
//
// Generated source in front of this file:
//     void wall_motion(const double* in, double* out)   from numbers of a motion and a time to displacement and velocity

DEVICE double time_of(const DeviceData& w, const FieldTime& time, const Slot& now, int trigger) {
    const Motion& motion = w.control->motion;
    i64 steps = time.steps;
    if (trigger != TRIGGER_IMMEDIATE) steps += motion.drift < motion.timestep ? now.done / 2 : now.done;
    return time.start + (double)steps * time.timestep;
}

// Time so many steps after the time set last, or before the batch.
DEVICE double time_after(const FieldTime& time, double steps) {
    return time.start + ((double)time.steps + steps) * time.timestep;
}

struct WallPlace { double at, velocity; };

// Place and velocity of a wall at a time.
DEVICE WallPlace wall_place(const WallPlane& plane, double time) {
    const double* motion = plane.motion;
    // Neither velocity nor amplitude.
    if (motion[0] == 0 && motion[1] == 0) return {plane.begin, 0};
    double in[6] = {motion[0], motion[1], motion[2], motion[3], motion[4], time}, out[2];
    wall_motion(in, out);
    return {plane.begin + out[0], out[1]};
}
