package tenancy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/service/control/usecases"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// labWithParts returns a lab with one more tenant, green: attached to h1 and h3, with classes bulk and default.
func labWithParts(t *testing.T) *usecases.Services {
	t.Helper()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	_, err := r.Service.CreateTenant(t.Context(), "lab", tenancy.TenantInput{
		Name: "green", Weight: 2000, PKey: 0x8003,
		Classes:     []tenants.Class{{Name: "bulk", Weight: 1000}, {Name: "default", Weight: 2000}},
		Attachments: []tenancy.AttachmentInput{{Port: "h3", SL: new(ident.SL(4))}, {Port: "h1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.Service
}

// state is everything that a refused change must leave as it was.
type state struct {
	Tenants []control.Tenant
	Flows   []tenants.Flow
	Version int64 // of the flows
	Policy  int64
	Audit   int
}

func stateOf(t *testing.T, s *usecases.Services, fabric string) (out state) {
	t.Helper()
	list, next, err := s.ListTenants(t.Context(), fabric, control.Page{Limit: control.MaxPageLimit})
	if err != nil || next != "" {
		t.Fatalf("tenants of %s: next %q, %v", fabric, next, err)
	}
	out.Tenants = list
	if out.Flows, out.Version, err = s.Flows(t.Context(), fabric); err != nil {
		t.Fatal(err)
	}
	p, err := s.Policy(t.Context(), fabric, 0)
	if err != nil && !errors.Is(err, control.ErrNotFound) {
		t.Fatal(err)
	}
	out.Policy, out.Audit = p.Number, len(controltest.AuditEntries(t, s))
	return out
}

// leaves fails the test when do changes anything.
func leaves(t *testing.T, s *usecases.Services, what string, do func()) {
	t.Helper()
	before := stateOf(t, s, "lab")
	do()
	if d := cmp.Diff(before, stateOf(t, s, "lab")); d != "" {
		t.Errorf("%s changed something:\n%s", what, d)
	}
}

// pointers returns the pointers of the rejected fields; nil when the error is no *InvalidError.
func pointers(err error) (list []string) {
	var bad *control.InvalidError
	if errors.As(err, &bad) {
		for _, f := range bad.Fields {
			list = append(list, f.Pointer)
		}
	}
	return list
}

func port(t *testing.T, s *usecases.Services, tenant, name string) tenants.Attachment {
	t.Helper()
	a, err := s.Attachment(t.Context(), "lab", tenant, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func class(t *testing.T, s *usecases.Services, tenant, name string) tenants.Class {
	t.Helper()
	c, err := s.Class(t.Context(), "lab", tenant, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// partChanges are the changes that depend on the tag of a part of tenant green.
func partChanges(t *testing.T, s *usecases.Services) map[string]func(tag string) error {
	ctx := t.Context()
	return map[string]func(tag string) error{
		"put an attachment": func(tag string) error {
			_, err := s.PutAttachment(ctx, "lab", "green", "h3", tag, new(ident.SL(6)))
			return err
		},
		"delete an attachment": func(tag string) error { return s.DeleteAttachment(ctx, "lab", "green", "h3", tag) },
		"put a class": func(tag string) error {
			return s.PutClass(ctx, "lab", "green", tag, tenants.Class{Name: "bulk", Weight: 9000})
		},
		"delete a class": func(tag string) error { return s.DeleteClass(ctx, "lab", "green", "bulk", tag) },
	}
}

func TestPartIsChangedOnlyAtTheTagThatWasRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"put an attachment", "delete an attachment", "put a class", "delete a class"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := labWithParts(t)
			change := partChanges(t, s)[name]
			var tag string
			if name == "put a class" || name == "delete a class" {
				tag = tenancy.Tag(class(t, s, "green", "bulk"))
			} else {
				tag = tenancy.Tag(port(t, s, "green", "h3"))
			}
			for _, stale := range []string{"", "0123456789abcdef", `"*"`, tenancy.Tag(port(t, s, "green", "h1"))} {
				leaves(t, s, "a tag of another part", func() {
					err := change(stale)
					controltest.MustFail(t, "tag "+stale, err, control.ErrPrecondition)
					if !errors.As(err, new(*tenancy.TagError)) {
						t.Errorf("tag %s: %v names no part", stale, err)
					}
				})
			}
			// A change of another part does not affect the tag.
			if _, err := s.PutAttachment(t.Context(), "lab", "green", "h1", tenancy.AnyTag, new(ident.SL(2))); err != nil {
				t.Fatal(err)
			}
			if err := s.PutClass(t.Context(), "lab", "green", tenancy.AnyTag, tenants.Class{Name: "default", Weight: 7000}); err != nil {
				t.Fatal(err)
			}
			before := stateOf(t, s, "lab")
			if err := change(tag); err != nil {
				t.Fatalf("with the tag that was read: %v", err)
			}
			after := stateOf(t, s, "lab")
			if after.Policy != before.Policy+1 || after.Audit != before.Audit+1 {
				t.Errorf("revision %d became %d, %d audit entries %d: want one more of each", before.Policy, after.Policy, before.Audit, after.Audit)
			}
			if err := change(tag); !errors.Is(err, control.ErrPrecondition) && !errors.Is(err, control.ErrNotFound) {
				t.Errorf("the same tag again: %v", err)
			}
		})
	}
}

func TestPartIsChangedWithoutATagWhereAnyIsMeant(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	for name, change := range partChanges(t, s) {
		if name == "put an attachment" || name == "put a class" {
			if err := change(tenancy.AnyTag); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			leaves(t, s, name+" again", func() {
				if err := change(tenancy.AnyTag); err != nil {
					t.Errorf("%s again: %v", name, err)
				}
			})
		}
	}
	if a := port(t, s, "green", "h3"); a.SL == nil || *a.SL != 6 {
		t.Errorf("the attachment is %+v, want service level 6", a)
	}
	if c := class(t, s, "green", "bulk"); c.Weight != 9000 {
		t.Errorf("the class is %+v, want weight 9", c)
	}
	if _, err := s.PutAttachment(t.Context(), "lab", "green", "h3", tenancy.AnyTag, nil); err != nil {
		t.Fatal(err)
	}
	if a := port(t, s, "green", "h3"); a.SL != nil {
		t.Errorf("the service level is still %d", *a.SL)
	}
}

func TestPartOfATenantIsFoundByAnyNameOfItsPort(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	want := port(t, s, "green", "h3")
	for _, name := range []string{"h3/P1", want.Port.String()} {
		if got := port(t, s, "green", name); got.Port != want.Port {
			t.Errorf("%s is %s, want %s", name, got.Port, want.Port)
		}
	}
	blue := port(t, s, "blue", "h2").Port.String()
	for _, name := range []string{"h2", blue, "h4/P1", "nowhere", "sw1:1", "", "0x1:1"} {
		_, err := s.Attachment(ctx, "lab", "green", name)
		controltest.MustFail(t, "attachment "+name+" of another tenant, or none", err, control.ErrNotFound)
		_, err = s.PutAttachment(ctx, "lab", "green", name, tenancy.AnyTag, nil)
		controltest.MustFail(t, "put attachment "+name, err, control.ErrNotFound)
		controltest.MustFail(t, "delete attachment "+name, s.DeleteAttachment(ctx, "lab", "green", name, tenancy.AnyTag), control.ErrNotFound)
	}
	for _, of := range [][2]string{{"lab", "purple"}, {"nowhere", "green"}} {
		_, err := s.Attachment(ctx, of[0], of[1], "h3")
		controltest.MustFail(t, "an attachment of an unknown tenant", err, control.ErrNotFound)
		_, err = s.Class(ctx, of[0], of[1], "bulk")
		controltest.MustFail(t, "a class of an unknown tenant", err, control.ErrNotFound)
		_, err = s.AddAttachment(ctx, of[0], of[1], tenancy.AttachmentInput{Port: "h2"})
		controltest.MustFail(t, "attaching an unknown tenant", err, control.ErrNotFound)
		controltest.MustFail(t, "a class for an unknown tenant", s.AddClass(ctx, of[0], of[1], tenants.Class{Name: "x", Weight: 1}), control.ErrNotFound)
	}
	for name, err := range map[string]error{
		"put":    s.PutClass(ctx, "lab", "green", tenancy.AnyTag, tenants.Class{Name: "gold", Weight: 1}),
		"delete": s.DeleteClass(ctx, "lab", "green", "gold", tenancy.AnyTag),
	} {
		controltest.MustFail(t, name+" a class that the tenant lacks", err, control.ErrNotFound)
	}
}

func TestAttachmentsStayInTheOrderOfTheirPorts(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	for _, name := range []string{"h4", "h2"} {
		if _, err := s.AddAttachment(t.Context(), "lab", "green", tenancy.AttachmentInput{Port: name, SL: new(ident.SL(5))}); err != nil {
			t.Fatal(err)
		}
	}
	for _, again := range []string{"h1", "h2/P1", "h3", "h4"} {
		leaves(t, s, "attaching twice", func() {
			_, err := s.AddAttachment(t.Context(), "lab", "green", tenancy.AttachmentInput{Port: again})
			if controltest.Code(err) != "already-exists" {
				t.Errorf("attaching %s twice: %v", again, err)
			}
		})
	}
	green, err := s.Tenant(t.Context(), "lab", "green")
	if err != nil || len(green.Attachments) != 4 {
		t.Fatalf("attachments are %+v, %v", green.Attachments, err)
	}
	if !slices.IsSortedFunc(green.Attachments, func(a, b tenants.Attachment) int { return a.Port.Compare(b.Port) }) {
		t.Errorf("attachments are in the order %+v", green.Attachments)
	}
}

func TestPartThatFlowsUseIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	flows := append(controltest.Tenants().Flows, tenancy.FlowInput{Tenant: "green", Class: "bulk", Src: "h1", Dst: "h3"})
	if _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, flows); err != nil {
		t.Fatal(err)
	}
	inUse := func(what string, err error) {
		t.Helper()
		if controltest.Code(err) != "in-use" {
			t.Errorf("%s: %v, want in-use", what, err)
		}
	}
	leaves(t, s, "removing a part in use", func() {
		inUse("source", s.DeleteAttachment(ctx, "lab", "green", "h1", tenancy.AnyTag))
		inUse("destination", s.DeleteAttachment(ctx, "lab", "green", "h3", tenancy.AnyTag))
		inUse("class", s.DeleteClass(ctx, "lab", "green", "bulk", tenancy.AnyTag))
	})
	// What flows of other tenants use is not in use by this one: blue and red send to h4.
	if _, err := s.AddAttachment(ctx, "lab", "green", tenancy.AttachmentInput{Port: "h4"}); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteAttachment(ctx, "lab", "green", "h4", tenancy.AnyTag); err != nil {
		t.Errorf("a port that only others use: %v", err)
	}
	if err := s.DeleteClass(ctx, "lab", "green", "default", tenancy.AnyTag); err != nil {
		t.Errorf("a class without flows: %v", err)
	}
	if _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"h1", "h3"} {
		if err := s.DeleteAttachment(ctx, "lab", "green", name, tenancy.AnyTag); err != nil {
			t.Errorf("%s, after the flows went: %v", name, err)
		}
	}
	if err := s.DeleteClass(ctx, "lab", "green", "bulk", tenancy.AnyTag); err != nil {
		t.Errorf("the class, after the flows went: %v", err)
	}
	green, err := s.Tenant(ctx, "lab", "green")
	if err != nil || len(green.Attachments)+len(green.Classes) != 0 {
		t.Errorf("green has %+v, %v, %v", green.Attachments, green.Classes, err)
	}
}

// TestDefaultClassIsInUseByFlowsThatNameNone: such flows would have no class after its removal.
func TestDefaultClassIsInUseByFlowsThatNameNone(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	if _, _, err := s.PutFlows(ctx, "lab", control.AnyVersion, []tenancy.FlowInput{{Tenant: "green", Src: "h1", Dst: "h3"}}); err != nil {
		t.Fatal(err)
	}
	leaves(t, s, "removing the default class", func() {
		if err := s.DeleteClass(ctx, "lab", "green", "default", tenancy.AnyTag); controltest.Code(err) != "in-use" {
			t.Errorf("with another class: %v, want in-use", err)
		}
	})
	if err := s.DeleteClass(ctx, "lab", "green", "bulk", tenancy.AnyTag); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteClass(ctx, "lab", "green", "default", tenancy.AnyTag); err != nil {
		t.Errorf("the only class, whose place the implied one takes: %v", err)
	}
}

func TestBadPartNamesTheFieldOfItsOwnRequest(t *testing.T) {
	t.Parallel()
	s := labWithParts(t)
	ctx := t.Context()
	attach := func(in tenancy.AttachmentInput) error {
		_, err := s.AddAttachment(ctx, "lab", "green", in)
		return err
	}
	pin := func(sl ident.SL) error {
		_, err := s.PutAttachment(ctx, "lab", "green", "h3", tenancy.AnyTag, &sl)
		return err
	}
	for name, c := range map[string]struct {
		err     error
		pointer string
	}{
		"unknown port":                                   {attach(tenancy.AttachmentInput{Port: "nowhere"}), "/port"},
		"port of a switch":                               {attach(tenancy.AttachmentInput{Port: "sw1:1"}), "/port"},
		"service level out of range":                     {attach(tenancy.AttachmentInput{Port: "h2", SL: new(ident.SL(16))}), "/sl"},
		"pinned out of range":                            {pin(16), "/sl"},
		"class with a bad name":                          {s.AddClass(ctx, "lab", "green", tenants.Class{Name: "A B", Weight: 1}), "/name"},
		"class without weight":                           {s.AddClass(ctx, "lab", "green", tenants.Class{Name: "a"}), "/weight"},
		"class of too much weight":                       {s.PutClass(ctx, "lab", "green", tenancy.AnyTag, tenants.Class{Name: "bulk", Weight: quantity.MaxWeight + 1}), "/weight"},
		"first class, of a tenant whose flows name none": {s.AddClass(ctx, "lab", "red", tenants.Class{Name: "a", Weight: 1}), ""},
	} {
		if got := pointers(c.err); len(got) != 1 || got[0] != c.pointer {
			t.Errorf("%s: %v at %q, want one fault at %q", name, c.err, got, c.pointer)
		}
	}
	if err := s.AddClass(ctx, "lab", "green", tenants.Class{Name: "bulk", Weight: 1}); controltest.Code(err) != "already-exists" {
		t.Errorf("a class twice: %v", err)
	}
	for i := range tenants.MaxClasses - 2 {
		if err := s.AddClass(ctx, "lab", "green", tenants.Class{Name: "c" + string(rune('a'+i)), Weight: 1}); err != nil {
			t.Fatal(err)
		}
	}
	leaves(t, s, "one class too many", func() {
		controltest.MustFail(t, "one class too many", s.AddClass(ctx, "lab", "green", tenants.Class{Name: "z", Weight: 1}), control.ErrInvalid)
	})
}

// TestUnreadableTopologyIsNotAMissingAttachment: a caller that gets not-found would attach the port again.
func TestUnreadableTopologyIsNotAMissingAttachment(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	r.Lab(t)
	ctx := t.Context()
	if _, err := r.Service.CreateFabric(ctx, control.Fabric{Name: "new", Source: controltest.Source}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Service.CreateTenant(ctx, "new", tenancy.TenantInput{Name: "red", Weight: 1}); err != nil {
		t.Fatal(err)
	}
	_, err := r.Service.Attachment(ctx, "new", "red", "h1")
	controltest.MustFail(t, "a port before the first discovery", err, control.ErrNotFound)
	err = r.Store.Tx(ctx, func(repos control.Repos) error {
		_, err := repos.PutSnapshot(ctx, control.Snapshot{Fabric: "lab", SHA256: strings.Repeat("0", 64), Topology: []byte("no: topology"), TakenAt: r.Service.Now(), SeenAt: r.Service.Now()})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Service.Attachment(ctx, "lab", "red", "h1")
	if err == nil || errors.Is(err, control.ErrNotFound) {
		t.Errorf("a port of a damaged topology: %v", err)
	}
}
