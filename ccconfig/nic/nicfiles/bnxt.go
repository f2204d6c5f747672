package nicfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlane/ccconfig/nic/nicparam"
)

// Bnxt accesses the congestion-control parameters of a Broadcom port in configfs. Most written values wait until "apply" is
// written, which gives them to the hardware. In older releases of the driver, the file of a parameter shows the waiting value. In
// releases whose "apply" shows values by name, such as ecn_enable=0x1, the files show the hardware's. Bnxt uses only these.
type Bnxt struct {
	files Files
	table *nicparam.Table
	port  Port
	dir   string
}

var _ Accessor = (*Bnxt)(nil)

// NewBnxt returns the accessor to a port. The device's directory in configfs must exist: see MakeBnxt.
func NewBnxt(files Files, table *nicparam.Table, port Port) (*Bnxt, error) {
	if err := checkBnxt(port); err != nil {
		return nil, err
	}
	return &Bnxt{files, table, port, BnxtDir(port) + "/"}, nil
}

// BnxtRoot is the directory of Broadcom's driver in configfs.
const BnxtRoot = "sys/kernel/config/bnxt_re"

// BnxtDir returns the directory of a port's parameters. The driver makes it when the device's directory in BnxtRoot is made.
func BnxtDir(port Port) string {
	return fmt.Sprintf("%s/%s/ports/%d/cc", BnxtRoot, port.RDMA, port.RDMAPort)
}

// MakeBnxt makes the device's directory in configfs, in which the driver then makes the files of the parameters.
func MakeBnxt(files Maker, port Port) error {
	if err := checkBnxt(port); err != nil {
		return err
	}
	dir := BnxtRoot + "/" + port.RDMA
	if err := files.Make(dir); err != nil {
		return fileError(dir, ErrRefused, err)
	}
	return nil
}

func checkBnxt(port Port) error {
	if err := checkName(fmt.Sprintf("port %d: RDMA device", port.Number), port.RDMA, 63); err != nil {
		return err
	}
	if port.RDMAPort < 1 || port.RDMAPort > nicparam.MaxPorts {
		return fmt.Errorf("port %d: found port %d of %s, want 1..%d", port.Number, port.RDMAPort, port.RDMA, nicparam.MaxPorts)
	}
	return nil
}

func (b *Bnxt) Backend() nicparam.Backend { return nicparam.Bnxt }

func (b *Bnxt) Keys() []nicparam.Key { return KeysOf(b.table, nicparam.Bnxt, b.port.Number) }

func (b *Bnxt) Knows(k nicparam.Key) bool {
	return k.Port == b.port.Number && ParamOf(b.table, nicparam.Bnxt, k.Name, k.Index) != nil
}

// Read reads the hardware's values.
func (b *Bnxt) Read(ctx context.Context, keys []nicparam.Key) []Reading {
	shown, err := b.applied(ctx)
	out := make([]Reading, len(keys))
	for i, k := range keys {
		out[i] = Reading{Setting: nicparam.Setting{Key: k}, By: nicparam.Bnxt, Err: err}
		if err != nil {
			continue
		}
		if !b.Knows(k) {
			out[i].Err = fmt.Errorf("%s by %s: %w", k, nicparam.Bnxt, ErrAbsent)
			continue
		}
		out[i].Value, out[i].Err = b.value(shown, b.file(k))
	}
	return out
}

// file returns the name of the file of a key that the accessor knows.
func (b *Bnxt) file(k nicparam.Key) string {
	p, _ := b.table.Find(k.Name)
	s, _ := p.Source(nicparam.Bnxt)
	return s.Name
}

// value returns the hardware's value: that of "apply" if it has one, otherwise that of the parameter's file.
func (b *Bnxt) value(shown map[string]uint64, file string) (uint64, error) {
	if v, ok := shown[file]; ok {
		return v, nil
	}
	text, err := b.files.Read(b.dir + file)
	if err != nil {
		return 0, fileError(b.dir+file, ErrUnreadable, err)
	}
	v, err := parseHex(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s%s: %w: %w", b.dir, file, ErrUnreadable, err)
	}
	return v, nil
}

// parseHex parses a value of the driver, which is hexadecimal also without 0x.
func parseHex(word string) (uint64, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(word, "0x"), 16, 32)
	if err != nil {
		return 0, fmt.Errorf("found %.32q, want a hexadecimal number of up to 8 digits", word)
	}
	return v, nil
}

// applied reads the values that "apply" shows by name.
func (b *Bnxt) applied(ctx context.Context) (map[string]uint64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := b.files.Read(b.dir + "apply")
	if err != nil {
		return nil, fileError(b.dir+"apply", ErrUnreadable, err)
	}
	shown, err := ParseBnxt(text)
	if err != nil {
		return nil, fmt.Errorf("%sapply: %w: %w", b.dir, ErrUnreadable, err)
	}
	if _, ok := shown["ecn_enable"]; !ok {
		return nil, fmt.Errorf("%sapply: %w: this release of the driver does not show the hardware's values by name, and its other files show values that may not have been applied", b.dir, ErrAbsent)
	}
	return shown, nil
}

// ParseBnxt reads the hardware's values from the contents of "apply", which has lines such as "ecn_enable=0x1 # ecn status : Enabled".
// Other lines are titles. Values are hexadecimal, also without 0x.
func ParseBnxt(text []byte) (map[string]uint64, error) {
	out := map[string]uint64{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		setting, _, _ := strings.Cut(line, "#")
		name, word, ok := strings.Cut(strings.TrimSpace(setting), "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t:") {
			continue
		}
		v, err := parseHex(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("line %d: %.32s: %w", n, name, err)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("line %d: two values of %.32s, want one", n, name)
		}
		out[name] = v
	}
	return out, nil
}

// Write writes the values and applies them. If a value is refused, those that wait before it are replaced by the hardware's, so
// that a later apply by another program does not give them to the hardware.
func (b *Bnxt) Write(ctx context.Context, set []nicparam.Setting) []error {
	errs := make([]error, len(set))
	keys := make([]nicparam.Key, len(set))
	for i := range set {
		keys[i] = set[i].Key
	}
	before := b.Read(ctx, keys)
	for i := range before {
		if before[i].Err != nil { // nothing is staged that could not be taken back
			for j := range errs {
				errs[j] = fmt.Errorf("%s: %w", set[j].Key, ErrSkipped)
			}
			errs[i] = before[i].Err
			return errs
		}
	}
	for i, s := range set {
		if errs[i] = b.stage(ctx, s); errs[i] == nil {
			continue
		}
		for j := i + 1; j < len(set); j++ {
			errs[j] = fmt.Errorf("%s: %w", set[j].Key, ErrSkipped)
		}
		for j := range i {
			errs[j] = fmt.Errorf("%s: not applied: %w", set[j].Key, ErrSkipped)
			errs[j] = errors.Join(errs[j], b.stage(context.WithoutCancel(ctx), before[j].Setting))
		}
		return errs
	}
	if err := b.files.Write(b.dir+"apply", []byte("1")); err != nil {
		for i := range errs {
			errs[i] = fileError(b.dir+"apply", ErrRefused, err)
		}
	}
	return errs
}

// stage writes a value that waits for apply. The prefix 0x makes it hexadecimal in every release of the driver.
func (b *Bnxt) stage(ctx context.Context, s nicparam.Setting) error {
	if !b.Knows(s.Key) {
		return fmt.Errorf("%s by %s: %w", s.Key, nicparam.Bnxt, ErrAbsent)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrSkipped, err)
	}
	name := b.dir + b.file(s.Key)
	if err := b.files.Write(name, strconv.AppendUint([]byte("0x"), s.Value, 16)); err != nil {
		return fileError(name, ErrRefused, err)
	}
	return nil
}

var _ Rewinder = (*Bnxt)(nil)

// Snapshot reads the hardware's values. Restoring them also replaces values that still wait.
func (b *Bnxt) Snapshot(ctx context.Context) (func(context.Context) error, error) {
	before := slices.DeleteFunc(b.Read(ctx, b.Keys()), func(r Reading) bool { return errors.Is(r.Err, ErrAbsent) })
	var set []nicparam.Setting
	for _, r := range before {
		if r.Err != nil {
			return nil, r.Err
		}
		set = append(set, r.Setting)
	}
	return func(ctx context.Context) error { return errors.Join(b.Write(ctx, set)...) }, nil
}
