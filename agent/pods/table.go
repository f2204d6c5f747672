package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/agent/pods/podsock"
	"fairlane/internal/durable"
)

// Options configure a table. All fields but Grace are needed.
type Options struct {
	Dir        string // state directory, of the agent alone: folder "records" has the records, folder "spool" the kept requests
	Version    string // of the agent
	BootID     string
	Bindings   Bindings
	Devices    Devices
	Namespaces Namespaces
	Now        func() time.Time
	Log        *slog.Logger
	// Grace is the time for which a network namespace must be gone before its records are released without a DEL; 0:
	// DefaultGrace.
	Grace time.Duration
}

// DefaultGrace leaves the container runtime time for its own DEL.
const DefaultGrace = time.Minute

// Table is the table of attachments. It is safe for concurrent use.
type Table struct {
	o       Options
	spool   string // directory of kept requests
	journal *journal
	locks   locks
	changed chan struct{}
	kick    chan struct{} // requests a sweep from Run

	mu      sync.Mutex
	entries map[podsock.Key]*entry
	devices int
	loaded  bool
	problem string // of the last refresh of the inventory
}

// Open opens the table of a state directory. Records of an earlier boot are dropped: their pods have ended, and their
// devices lost their values. Nothing is applied before the first sweep.
func Open(o Options) (*Table, error) {
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	records, spool := filepath.Join(o.Dir, recordsDir), filepath.Join(o.Dir, "spool")
	for dir, age := range map[string]time.Duration{o.Dir: 0, records: 0, spool: time.Minute} { // plugins may write into the spool now
		if err := durable.RemoveRemains(dir, age); err != nil {
			return nil, fmt.Errorf("pods: %w", err)
		}
	}
	j, found, damaged, err := openJournal(records)
	if err != nil {
		return nil, err
	}
	t := &Table{o: o, spool: spool, journal: j, entries: map[podsock.Key]*entry{}, changed: make(chan struct{}, 1), kick: make(chan struct{}, 1)}
	for _, err := range damaged {
		o.Log.Error("damaged record of a pod set aside", "error", err.Error())
	}
	for _, e := range found {
		if e.BootID != o.BootID {
			o.Log.Info("record of an earlier boot dropped", "attachment", e.Key.String(), "device", e.Device)
			if err := j.remove(e.Key); err != nil {
				return nil, err
			}
			continue
		}
		t.entries[e.Key] = e
	}
	return t, nil
}

// Changed returns a channel with a value after records changed, for one reader.
func (t *Table) Changed() <-chan struct{} { return t.changed }

func (t *Table) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// get returns the entry of an attachment; nil if there is none.
func (t *Table) get(k podsock.Key) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[k]
}

// put replaces an entry in memory. A later read of the same values is no change.
func (t *Table) put(e *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.entries[e.Key]
	t.entries[e.Key] = e
	if old != nil {
		before := old.Record
		before.Checked = e.Checked
		if reflect.DeepEqual(before, e.Record) {
			return
		}
	}
	t.notify()
}

// save replaces an entry, in the journal first. An entry whose device it takes over ends then, and not before: otherwise a
// failure in between would lose the device's earlier values.
func (t *Table) save(e *entry) error {
	if err := t.journal.save(e); err != nil {
		return err
	}
	replaced := e.replaces
	e.replaces = podsock.Key{} // others may read it from here on
	t.put(e)
	if replaced == (podsock.Key{}) {
		return nil
	}
	t.o.Log.Info("device taken over", "device", e.Device, "from", replaced.String(), "to", e.Key.String())
	return t.drop(replaced)
}

// drop removes an entry, from the journal first.
func (t *Table) drop(k podsock.Key) error {
	if err := t.journal.remove(k); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.entries, k)
	t.notify()
	return nil
}

// Tenants returns the tenants of the pods that have functions of a port, by the function's index. The port is that of managers,
// GUID:PORT.
func (t *Table) Tenants(port string) map[int]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[int]string{}
	for _, e := range t.entries {
		if e.Found.Port == port && e.Found.VF != nil && e.Tenant != "" {
			out[*e.Found.VF] = e.Tenant
		}
	}
	return out
}

// all returns the entries in the order of their keys.
func (t *Table) all() []*entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]*entry, 0, len(t.entries))
	for _, e := range t.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.Key.String(), b.Key.String()) })
	return out
}

// owner returns the entry of another attachment that has a device; nil if there is none.
func (t *Table) owner(device string, but podsock.Key) *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, e := range t.entries {
		if device != "" && e.Device == device && k != but {
			return e
		}
	}
	return nil
}

// List returns all records by key, with the counters of their devices if requested. Counters that cannot be read are missing.
func (t *Table) List(ctx context.Context, counters bool) []podsock.Record {
	entries := t.all()
	out := make([]podsock.Record, len(entries))
	for i, e := range entries {
		out[i] = e.Record
		if counters && e.Device != "" && e.Found.ID != "" {
			if found, err := t.o.Devices.Counters(ctx, e.Found); err == nil {
				out[i].Counters = found
			}
		}
	}
	return out
}

// Status returns the state of the table.
func (t *Table) Status() podsock.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := podsock.Status{Version: t.o.Version, Loaded: t.loaded, Devices: t.devices, Records: len(t.entries), Problem: t.problem}
	for _, e := range t.entries {
		if e.Pending {
			s.Pending++
		}
		if e.Drift {
			s.Drifted++
		}
		if e.unreadable {
			s.Unreadable++
		}
	}
	return s
}

// keyLock and deviceLock return the names of locks. A caller takes the lock of a key before those of devices.
func keyLock(k podsock.Key) string { return "attachment " + k.String() }

func deviceLock(device string) string {
	if device == "" {
		return ""
	}
	return "device " + device
}

// lockEntry locks an attachment and the devices that it has or gets, and returns its entry; nil if there is none.
func (t *Table) lockEntry(ctx context.Context, k podsock.Key, device string) (e *entry, unlock func(), err error) {
	first, err := t.locks.acquire(ctx, keyLock(k))
	if err != nil {
		return nil, nil, err
	}
	names := []string{deviceLock(device)}
	if e := t.get(k); e != nil {
		names = append(names, deviceLock(e.Device))
	}
	second, err := t.locks.acquire(ctx, names...)
	if err != nil {
		first()
		return nil, nil, err
	}
	return t.get(k), func() { second(); first() }, nil // another attachment may have taken the device over meanwhile
}

// Add attaches a pod's device: it finds the class of the namespace, applies it, reads it back and records it. A repeated
// call applies it again. A nil error means that the pod may start; the record says whether its class is in force. Errors
// are a *podsock.Problem.
func (t *Table) Add(ctx context.Context, a podsock.Attachment, source podsock.Source) (podsock.Record, error) {
	if err := a.Check(); err != nil {
		return podsock.Record{}, err
	}
	old, unlock, err := t.lockEntry(ctx, a.Key, a.Device)
	if err != nil {
		return podsock.Record{}, err
	}
	defer unlock()
	a.Assigned = cmp.Or(a.Assigned, t.assigned(&a, old))
	d, err := t.decide(&a)
	if err != nil {
		return podsock.Record{}, err
	}
	if old != nil && old.Device != a.Device {
		if err := t.release(ctx, old); err != nil {
			return podsock.Record{}, err
		}
		old = nil
	}
	e := &entry{Record: podsock.Record{Attachment: a, Source: source}, BootID: t.o.BootID}
	known := podsock.Device{}
	if old != nil {
		*e = *old
		e.Attachment, e.Source, e.Releasing, e.gone = a, source, false, time.Time{}
		known = old.Found
	} else if other := t.owner(a.Device, a.Key); other != nil {
		over, err := t.takeOver(other, &a, source)
		switch {
		case err != nil:
			return podsock.Record{}, err
		case !over:
			return t.assign(ctx, other, a.Assigned), nil
		}
		// The baseline of the device is what it had before any class, not what the ended pod had.
		e.Before, e.Applied, e.replaces, known = other.Before, other.Applied, other.Key, other.Found
	}
	e.Added = t.o.Now()
	e.NetNSID = ""
	if a.NetNS != "" {
		if id, err := t.o.Namespaces.Identify(a.NetNS); err == nil {
			e.NetNSID = id
		}
	}
	return t.establish(ctx, e, d, known)
}

func (t *Table) decide(a *podsock.Attachment) (decision, error) {
	b, age, s := t.o.Bindings.Binding(a.Pod.Namespace)
	return decide(b.of(a.Assigned), age, s, a.Pod.Namespace, a.FailPolicy)
}

// takeOver decides whether an attachment gets a device that another one has: only if that one is known to have ended, or is
// the same pod's by another source. It returns false when the other record stays, and serves this attachment too.
func (t *Table) takeOver(other *entry, a *podsock.Attachment, source podsock.Source) (bool, error) {
	samePod := a.Pod.UID != "" && a.Pod.UID == other.Pod.UID && source != other.Source
	switch {
	case samePod:
		return other.Source != podsock.SourceCNI, nil // CNI knows the interface, and when it ends
	case other.Releasing, t.ended(other):
		return true, nil
	}
	return false, podsock.Problemf(podsock.CodeTryAgain, "device %s: found in use by pod %s/%s (container %s), whose network namespace still exists",
		a.Device, other.Pod.Namespace, other.Pod.Name, other.ContainerID)
}

// ended reports whether the network namespace of an attachment is known to be gone.
func (t *Table) ended(e *entry) bool {
	return e.NetNSID != "" && t.o.Namespaces.Gone(e.NetNS, e.NetNSID)
}

// establish applies the class of a new or repeated attachment. If that fails, the policy decides.
func (t *Table) establish(ctx context.Context, e *entry, d decision, known podsock.Device) (podsock.Record, error) {
	policy := cmp.Or(e.FailPolicy, podsock.Open)
	if d.bound {
		policy = cmp.Or(e.FailPolicy, d.binding.FailPolicy, podsock.Closed)
	}
	applied, err := t.apply(ctx, e, d, known)
	if err == nil {
		applied.Established = true
		if err := t.save(applied); err != nil {
			return podsock.Record{}, err
		}
		t.o.Log.Info("pod attached", attributes(applied)...)
		t.redivide(applied)
		return applied.Record, nil
	}
	if policy == podsock.Closed {
		return podsock.Record{}, t.abandon(ctx, applied, err)
	}
	applied.Pending, applied.Established, applied.Applying, applied.Reason = true, true, false, err.Error()
	if err := t.save(applied); err != nil {
		return podsock.Record{}, err
	}
	t.o.Log.Warn("pod attached without its class", append(attributes(applied), "error", err.Error())...)
	return applied.Record, nil
}

// abandon ends an attachment whose class could not be applied. One that was in force before stays recorded.
func (t *Table) abandon(ctx context.Context, e *entry, why error) error {
	if e.Established {
		e.Pending, e.Applying, e.Reason = true, false, why.Error()
		return errors.Join(why, t.save(e))
	}
	e.Reason = why.Error()
	t.o.Log.Error("pod not attached", append(attributes(e), "error", why.Error())...)
	if t.get(e.Key) == nil {
		return why // it failed before its first write
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	return errors.Join(why, t.release(ctx, e))
}

// undoTimeout bounds the restoring of a device after its caller left.
const undoTimeout = 5 * time.Second

// apply finds the device of an entry and applies a class, and returns the entry that results; after an error, as far as it
// came. The caller holds the locks, and saves the result.
func (t *Table) apply(ctx context.Context, of *entry, d decision, known podsock.Device) (*entry, error) {
	e := *of
	e.Pending, e.Reason, e.Missing, e.Drift = d.unsettled != "", d.unsettled, "", false
	if d.unsettled == "" {
		e.Binding, e.Tenant, e.Class, e.Levers = d.binding.Name, d.binding.Tenant, d.binding.Class, d.binding.at(known.Port)
		e.Weight = d.binding.Weights[d.binding.Class]
	}
	if e.Device == "" {
		if !noLevers(e.Levers) {
			e.Missing = "no device of its own: the class is recorded, and nothing is applied"
		}
		if e.SharedDevice != "" {
			if found, err := t.o.Devices.Find(ctx, Query{e.Key, e.SharedDevice, known}); err == nil {
				e.Found = found // unknown otherwise: only its port is not reported
			}
		}
		return &e, nil
	}
	found, err := t.o.Devices.Find(ctx, Query{e.Key, e.Device, known})
	nothing := noLevers(e.Levers) && (e.Applied == podsock.Settings{}) // to write
	switch {
	case err != nil && nothing:
		e.Missing = err.Error()
		return &e, nil
	case err != nil:
		return &e, podsock.Problemf(podsock.CodeDevice, "device %s: %w", e.Device, err)
	}
	e.Found = found
	if d.unsettled == "" {
		e.Levers = d.binding.at(found.Port)
		nothing = noLevers(e.Levers) && (e.Applied == podsock.Settings{})
	}
	if e.Levers.ShareOf1000 != nil {
		e.DividedBy, e.PartOf1000 = t.divide(&e)
	}
	if d.unsettled != "" || nothing {
		return &e, nil
	}
	return t.write(ctx, &e)
}

// write applies the levers of an entry to its device, with the earlier values in the journal first.
func (t *Table) write(ctx context.Context, e *entry) (*entry, error) {
	fail := func(err error) (*entry, error) {
		return e, podsock.Problemf(podsock.CodeDevice, "device %s: %w", e.Device, err)
	}
	if (e.Before == podsock.Settings{}) {
		before, err := t.o.Devices.Read(ctx, e.Found)
		if err != nil {
			return fail(err)
		}
		e.Before = before
	}
	e.Applying = true
	if err := t.save(e); err != nil {
		return e, err
	}
	next := *e
	e = &next
	if rest := dropped(only(e.Before, e.Applied), e.Levers); (rest != podsock.Settings{}) {
		if err := t.o.Devices.Restore(ctx, e.Found, rest); err != nil {
			return fail(err)
		}
	}
	applied, err := t.o.Devices.Apply(ctx, e.Found, e.part())
	if err != nil {
		return fail(err)
	}
	now, err := t.o.Devices.Read(ctx, e.Found)
	if err != nil {
		return fail(err)
	}
	e.Applied, e.ReadBack, e.Checked, e.unreadable = applied.Settings, only(now, applied.Settings), t.o.Now(), false
	if !holds(e.Applied, now) {
		return fail(errors.New("read back other values than were written: another program may write them too"))
	}
	e.Applying = false
	e.Missing = applied.Missing
	return e, nil
}

// attributes are what logs say of an entry.
func attributes(e *entry) []any {
	return []any{"attachment", e.Key.String(), "pod", e.Pod.Namespace + "/" + e.Pod.Name, "device", e.Device, "tenant", e.Tenant, "class", e.Class, "reason", e.Reason, "missing", e.Missing}
}
