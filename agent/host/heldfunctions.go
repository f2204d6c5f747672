package host

import (
	"context"
	"fmt"

	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/nic/nicfiles"
	"fairlane/ccconfig/nic/nicparam"
)

// Holder knows which virtual functions pods hold, by PCI address. It is safe for concurrent use.
type Holder interface {
	// Beneath returns the values that functions have when no pod holds them, of the settings that a pod's class has.
	Beneath() map[string]podsock.Settings
	// Hold keeps functions from changing hands until the returned function is called.
	Hold(ctx context.Context, functions []string) (release func(), err error)
	// SetBeneath changes the values that a held function has when no pod holds it; nil values stay.
	SetBeneath(function string, s podsock.Settings) error
}

// HeldBy makes the parameters of functions that pods hold those beneath the pods' classes: a manager reads and sets what a
// function has without a pod, and a pod's rates stay as its class has them. It must be called before the host is first read.
func (h *Host) HeldBy(holder Holder) { h.holder = holder }

// heldFunctions is the access of managers to the rates of a port's functions.
type heldFunctions struct {
	nicfiles.Accessor
	holder    Holder
	functions map[int]string // PCI address by index
}

// underHolder returns the access of managers to the rates of a port's functions.
func (h *Host) underHolder(a nicfiles.Accessor, f *PortFound) nicfiles.Accessor {
	if h.holder == nil || a == nil {
		return a
	}
	out := &heldFunctions{a, h.holder, map[int]string{}}
	for _, one := range f.Functions {
		if one.PCI != "" {
			out.functions[one.Index] = one.PCI
		}
	}
	return out
}

// settingOf returns the setting of a rate; nil for other parameters.
func settingOf(s *podsock.Settings, name string) **uint32 {
	switch name {
	case paramMax:
		return &s.MaxMbps
	case paramShare:
		return &s.ShareMbps
	}
	return nil
}

// under returns the value of a parameter beneath a pod's class; false if none holds it.
func (a *heldFunctions) under(beneath map[string]podsock.Settings, k nicparam.Key) (uint64, bool) {
	s := beneath[a.functions[k.Index]]
	if v := settingOf(&s, k.Name); v != nil && *v != nil {
		return uint64(**v), true
	}
	return 0, false
}

// Read implements nicfiles.Accessor. A pod may take or leave a function meanwhile: neither its rate, nor what lay beneath it
// before a change, may be read as the other.
func (a *heldFunctions) Read(ctx context.Context, keys []nicparam.Key) []nicfiles.Reading {
	before := a.holder.Beneath()
	out := a.Accessor.Read(ctx, keys)
	after := a.holder.Beneath()
	for i := range out {
		r := &out[i]
		if r.Err != nil {
			continue
		}
		v, held := a.under(after, r.Key)
		if !held {
			v, held = a.under(before, r.Key)
		}
		if held && v != r.Value {
			r.Acting = new(r.Value)
		}
		if held {
			r.Value = v
		}
	}
	return out
}

// Write implements nicfiles.Accessor.
func (a *heldFunctions) Write(ctx context.Context, set []nicparam.Setting) []error {
	out := make([]error, len(set))
	fail := func(from int, err error) []error {
		for i := from; i < len(set); i++ {
			out[i] = nicfiles.ErrSkipped
		}
		out[from] = err
		return out
	}
	var functions []string
	for _, s := range set {
		functions = append(functions, a.functions[s.Index])
	}
	release, err := a.holder.Hold(ctx, functions)
	if err != nil {
		return fail(0, fmt.Errorf("%w: %w", nicfiles.ErrRefused, err))
	}
	defer release()
	beneath := a.holder.Beneath()
	var direct []nicparam.Setting
	var at []int
	for i, s := range set {
		if _, held := a.under(beneath, s.Key); !held {
			direct, at = append(direct, s), append(at, i)
		}
	}
	end := len(set) // of what is written
	if len(direct) > 0 {
		for j, err := range a.Accessor.Write(ctx, direct) {
			if out[at[j]] = err; err != nil {
				end = min(end, at[j])
			}
		}
	}
	for i, s := range set {
		if i >= end {
			if out[i] == nil {
				out[i] = nicfiles.ErrSkipped
			}
			continue
		}
		// Also what was written to the device: a pod may hold it with a class that has no such rate yet.
		if err := a.setBeneath(s); err != nil {
			return fail(i, fmt.Errorf("%w: %w", nicfiles.ErrRefused, err))
		}
	}
	return out
}

func (a *heldFunctions) setBeneath(s nicparam.Setting) error {
	var values podsock.Settings
	v := settingOf(&values, s.Name)
	if v == nil || a.functions[s.Index] == "" {
		return nil
	}
	*v = new(uint32(min(s.Value, 1<<32-1)))
	return a.holder.SetBeneath(a.functions[s.Index], values)
}
