package tenants

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fairlane/internal/quantity"
	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet/ident"
)

func p(n int) ident.PortID { return ident.PortID{Node: ident.GUID(n), Port: 1} }

func TestValidateNamesFieldFoundAndAllowed(t *testing.T) {
	t.Parallel()
	sl := ident.SL(16)
	good := Tenant{Name: "red", Weight: 1000}
	with := func(change func(*Tenant)) []Tenant { x := good; change(&x); return []Tenant{x} }
	flow := func(change func(*Flow)) []Flow {
		f := Flow{Tenant: "red", Src: p(1), Dst: p(2), QPs: 1}
		change(&f)
		return []Flow{f}
	}
	for name, c := range map[string]struct {
		ts    []Tenant
		flows []Flow
		want  string // part of the message; empty: valid
	}{
		"valid":               {[]Tenant{good}, flow(func(*Flow) {}), ""},
		"weight zero":         {with(func(x *Tenant) { x.Weight = 0 }), nil, "weight 0: want 0.001 to 1000000"},
		"weight too large":    {with(func(x *Tenant) { x.Weight = quantity.MaxWeight + 1 }), nil, "weight"},
		"bad name":            {with(func(x *Tenant) { x.Name = "Red" }), nil, `name "Red": want 1 to 63`},
		"empty name":          {with(func(x *Tenant) { x.Name = "" }), nil, "name"},
		"name ends in dash":   {with(func(x *Tenant) { x.Name = "a-" }), nil, "name"},
		"long name":           {with(func(x *Tenant) { x.Name = strings.Repeat("a", 64) }), nil, "name"},
		"limits":              {with(func(x *Tenant) { x.Guarantee, x.Cap = 10*quantity.Gbps, 10*quantity.Gbps }), nil, ""},
		"guarantee alone":     {with(func(x *Tenant) { x.Guarantee = quantity.MaxBitRate }), nil, ""},
		"negative guarantee":  {with(func(x *Tenant) { x.Guarantee = -1 }), nil, "guarantee -1 bit/s: want 0 for none, or 1 Mbit/s to 100 Tbit/s"},
		"guarantee too large": {with(func(x *Tenant) { x.Guarantee = quantity.MaxBitRate + 1 }), nil, "guarantee"},
		"negative cap":        {with(func(x *Tenant) { x.Cap = -1 }), nil, "cap -1 bit/s: want 0 for no bound"},
		"cap too large":       {with(func(x *Tenant) { x.Cap = quantity.MaxBitRate + 1 }), nil, "cap"},
		"cap below guarantee": {with(func(x *Tenant) { x.Guarantee, x.Cap = 10*quantity.Gbps, 9*quantity.Gbps }), nil, "cap 9 Gbit/s: want at least the guarantee, 10 Gbit/s"},
		"duplicate tenant":    {[]Tenant{good, good}, nil, "a name that no other tenant has"},
		"shared partition":    {[]Tenant{{Name: "a", Weight: 1, PKey: 0x8001}, {Name: "b", Weight: 1, PKey: 1}}, nil, "tenant a has it"},
		"pkey without a key":  {with(func(x *Tenant) { x.PKey = 0x8000 }), nil, "pkey 0x8000"},
		"duplicate class":     {with(func(x *Tenant) { x.Classes = []Class{{"a", 1}, {"a", 1}} }), nil, "classes[1].name"},
		"class weight":        {with(func(x *Tenant) { x.Classes = []Class{{"a", 0}} }), nil, "classes[0].weight 0"},
		"too many classes":    {with(func(x *Tenant) { x.Classes = make([]Class, 17) }), nil, "at most 16"},
		"attached twice":      {with(func(x *Tenant) { x.Attachments = []Attachment{{Port: p(1)}, {Port: p(1)}} }), nil, "attachments[1].port"},
		"SL out of range":     {with(func(x *Tenant) { x.Attachments = []Attachment{{Port: p(1), SL: &sl}} }), nil, "sl 16: want 0 to 15"},
		"unknown tenant":      {[]Tenant{good}, flow(func(f *Flow) { f.Tenant = "blue" }), `flow 0: tenant "blue"`},
		"unknown class":       {[]Tenant{good}, flow(func(f *Flow) { f.Class = "x" }), `class "x"`},
		"no queue pairs":      {[]Tenant{good}, flow(func(f *Flow) { f.QPs = 0 }), "qps 0: want 1 to 65536"},
		"too many":            {[]Tenant{good}, flow(func(f *Flow) { f.QPs = MaxQPs + 1 }), "qps"},
		"negative demand":     {[]Tenant{good}, flow(func(f *Flow) { f.Demand = -1 }), "demand"},
		"flow to itself":      {[]Tenant{good}, flow(func(f *Flow) { f.Dst = f.Src }), "another port"},
		"source not attached": {with(func(x *Tenant) { x.Attachments = []Attachment{{Port: p(2)}} }), flow(func(*Flow) {}), "src"},
		"destination not":     {with(func(x *Tenant) { x.Attachments = []Attachment{{Port: p(1)}} }), flow(func(*Flow) {}), "dst"},
		"no default class":    {with(func(x *Tenant) { x.Classes = []Class{{"a", 1}} }), flow(func(*Flow) {}), `class "": want one of the tenant's classes: a`},
	} {
		err := Validate(c.ts, c.flows)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		var fe *FieldError
		if err != nil && !errors.As(err, &fe) {
			t.Errorf("%s: error %v is no FieldError", name, err)
		}
		if err != nil {
			zhtest.Error(t, name, err, strings.Fields("red Red name weight guarantee cap pkey classes class qps demand src dst tenant "+c.ts[0].Name)...)
		}
	}
}

func TestLimitsWithoutUnitAreRejected(t *testing.T) {
	t.Parallel()
	for rate, ok := range map[quantity.BitRate]bool{0: true, 1: false, 10: false, MinLimit - 1: false, MinLimit: true} {
		for field, x := range map[string]Tenant{"cap": {Name: "a", Weight: 1, Cap: rate}, "guarantee": {Name: "a", Weight: 1, Guarantee: rate}} {
			err := Validate([]Tenant{x}, nil)
			want := fmt.Sprintf("tenant a: %s %s: want at least 1 Mbit/s, or 0 for none; is the unit missing?", field, rate)
			if (err == nil) != ok || err != nil && err.Error() != want {
				t.Errorf("%s %s: error %v, want %q: %t", field, rate, err, want, !ok)
			}
		}
	}
}

func TestAttachDerivesPortsFromFlowsAndSortsThem(t *testing.T) {
	t.Parallel()
	sl := ident.SL(3)
	in := []Tenant{{Name: "a"}, {Name: "b", Attachments: []Attachment{{Port: p(9), SL: &sl}, {Port: p(2)}}}}
	out := Attach(in, []Flow{{Tenant: "a", Src: p(5), Dst: p(1)}, {Tenant: "a", Src: p(5), Dst: p(3)}, {Tenant: "b", Src: p(7), Dst: p(8)}})
	if got := fmt.Sprint(out[0].Attachments[0].Port.Node, out[0].Attachments[1].Port.Node, out[0].Attachments[2].Port.Node, len(out[0].Attachments)); got != fmt.Sprint(p(1).Node, p(3).Node, p(5).Node, 3) {
		t.Errorf("derived %s", got)
	}
	if len(out[1].Attachments) != 2 || out[1].Attachments[0].Port != p(2) || out[1].Attachments[1].SL == nil {
		t.Errorf("given attachments became %+v", out[1].Attachments)
	}
	if in[1].Attachments[0].Port != p(9) || in[0].Attachments != nil {
		t.Error("the input was changed")
	}
}

// An attachment that only feeds claim carries no declared flow, and does not end the implied attachments of a tenant
// without any of the operator's.
func TestAttachmentsOfFeedsAreNotTheOperators(t *testing.T) {
	t.Parallel()
	fed := func(n int) Attachment { return Attachment{Port: p(n), FeedOnly: true} }
	flows := []Flow{{Tenant: "a", Src: p(5), Dst: p(1), QPs: 1}}
	only := []Tenant{{Name: "a", Weight: quantity.WeightOne, Attachments: []Attachment{fed(1), fed(3)}}}
	if err := Validate(only, flows); err != nil {
		t.Errorf("a tenant with attachments of feeds alone: %v", err)
	}
	want := []Attachment{{Port: p(1), FeedOnly: true}, {Port: p(3), FeedOnly: true}, {Port: p(5)}}
	got := Attach(only, flows)[0].Attachments
	if len(got) != 3 || got[1] != want[1] || got[2] != want[2] || got[0].Port != p(1) {
		t.Errorf("it is attached to %+v", got)
	}
	both := []Tenant{{Name: "a", Weight: quantity.WeightOne, Attachments: []Attachment{{Port: p(1)}, fed(5)}}}
	if err := Validate(both, flows); err == nil || !strings.Contains(err.Error(), "src") {
		t.Errorf("a flow from a port of a feed: %v", err)
	}
	if own := OwnOnly(both); len(own[0].Attachments) != 1 || len(both[0].Attachments) != 2 {
		t.Errorf("the operator's are %+v of %+v", own[0].Attachments, both[0].Attachments)
	}
}
