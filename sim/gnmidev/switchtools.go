package gnmidev

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"fairlane/ccconfig/ecn"
)

// Marking returns the marking of the switch's queues, by port and queue.
func (w *Switch) Marking() []ecn.QueueMarking {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.marking)
}

// Hostname returns the switch's host name: by default the name of the switch, with "-" for characters that are not valid in
// host names.
func (w *Switch) Hostname() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running.hostname()
}

// Config returns the running configuration as config_db.json.
func (w *Switch) Config() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running.json()
}

// InjectSwitch changes the configuration faults of the switch.
func (w *Switch) InjectSwitch(change func(*SwitchFaults)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.faults)
}

// Heal removes all faults. The configuration stays.
func (w *Switch) Heal() {
	w.Inject(func(f *Faults) { *f = Faults{} })
	w.InjectSwitch(func(f *SwitchFaults) { *f = SwitchFaults{} })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.commit(w.running.clone(), false) // schedulers that Idle held back take effect
}

// Reboot restarts the switch with its saved configuration; the ASIC's counters restart at 0.
func (w *Switch) Reboot() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls.reset(len(w.ports), w.o.Plane.Measure)
	w.commit(w.saved.clone(), false)
}

// Reset returns the switch to its initial configuration, including the saved one.
func (w *Switch) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls.reset(len(w.ports), w.o.Plane.Measure)
	w.commit(w.factory.clone(), true)
}

// Edit changes an entry of the running configuration as a user with a shell on the switch can: without validation or guard,
// and without saving. Nil fields delete the entry.
func (w *Switch) Edit(name, key string, f map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.running.clone()
	delete(after[name], key)
	if f != nil {
		maps.Copy(after.entry(name, key), f)
	}
	w.commit(after, false)
}

// PutMarking sets the marking of all queues to m, as a second manager does, with one profile for each different marking; the
// first is AZURE_LOSSLESS. The change is not saved.
func (w *Switch) PutMarking(m []ecn.QueueMarking) {
	w.mu.Lock()
	defer w.mu.Unlock()
	after := w.running.clone()
	w.mark(after, m)
	w.commit(after, false)
}

// mark writes the profiles and references of a marking to a configuration.
func (w *Switch) mark(d database, m []ecn.QueueMarking) {
	for _, f := range d["QUEUE"] {
		delete(f, "wred_profile")
	}
	profiles := map[ecn.Marking]string{}
	for _, q := range m {
		name, ok := profiles[q.Marking]
		if !ok {
			name = stockProfile
			if len(profiles) > 0 {
				name = fmt.Sprintf("%s_%d", stockProfile, len(profiles)+1)
			}
			profiles[q.Marking] = name
			d.put(wredTable, name, wredProfile(q.Marking))
		}
		if i := int(q.Port) - 1; i >= 0 && i < len(w.ports) {
			d.entry("QUEUE", w.ports[i].Name+"|"+strconv.Itoa(int(q.Queue)))["wred_profile"] = name
		}
	}
}

// put sets an entry to f.
func (d database) put(name, key string, f fields) {
	t := d[name]
	if t == nil {
		t = table{}
		d[name] = t
	}
	t[key] = f
}

// stockProfile is the marking profile of RoCE queues.
const stockProfile = "AZURE_LOSSLESS"

// wredProfile returns a profile that marks packets of all colours equally.
func wredProfile(m ecn.Marking) fields {
	f := fields{"ecn": "ecn_all"}
	for _, c := range colours {
		f["wred_"+c+"_enable"] = "true"
		f[c+"_min_threshold"], f[c+"_max_threshold"] = strconv.FormatInt(m.Min, 10), strconv.FormatInt(m.Max, 10)
		f[c+"_drop_probability"] = strconv.Itoa(m.PMaxPct)
	}
	return f
}
