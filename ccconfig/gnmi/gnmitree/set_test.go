package gnmitree_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"fairlane/ccconfig/gnmi/gnmitree"
)

const rate1 = p1 + "/params/param[index=0][name=rpg_ai_rate]/config"

func ietf(s string) *gnmi.TypedValue {
	return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
}

func update(at, json string) *gnmi.Update { return &gnmi.Update{Path: wire(at), Val: ietf(json)} }

// reads returns the answer to a Get of a leaf, in JSON.
func reads(t *testing.T, c gnmi.GNMIClient, at string) string {
	t.Helper()
	r, err := c.Get(short(t), &gnmi.GetRequest{Path: []*gnmi.Path{wire(at)}})
	if err != nil {
		return err.Error()
	}
	return string(r.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonVal())
}

func TestSet(t *testing.T) {
	t.Parallel()
	c := single(t, port())
	before := time.Now()
	r, err := c.Set(short(t), &gnmi.SetRequest{
		Prefix:  &gnmi.Path{Target: "a", Elem: wire(p1 + "/params").GetElem()},
		Delete:  []*gnmi.Path{wire("param[name=rpg_ai_rate][index=0]/config")},
		Replace: []*gnmi.Update{update("param[name=rpg_hai_rate][index=0]/config", `{"fairlane-nic:value":"50"}`)},
		Update:  []*gnmi.Update{{Path: wire("param[name=rpg_gd][index=0]/config/value"), Val: &gnmi.TypedValue{Value: &gnmi.TypedValue_UintVal{UintVal: 11}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if at := time.Unix(0, r.GetTimestamp()); at.Before(before) || at.After(time.Now()) {
		t.Errorf("the response has the timestamp %s", at)
	}
	r.Timestamp = 0
	want := &gnmi.SetResponse{Prefix: &gnmi.Path{Target: "a", Elem: wire(p1 + "/params").GetElem()}, Response: []*gnmi.UpdateResult{
		{Op: gnmi.UpdateResult_DELETE, Path: wire("param[name=rpg_ai_rate][index=0]/config")},
		{Op: gnmi.UpdateResult_REPLACE, Path: wire("param[name=rpg_hai_rate][index=0]/config")},
		{Op: gnmi.UpdateResult_UPDATE, Path: wire("param[name=rpg_gd][index=0]/config/value")},
	}}
	if !proto.Equal(r, want) {
		t.Errorf("answer\n%v\nwant\n%v", r, want)
	}
	for at, want := range map[string]string{
		p1 + "/params/param[name=rpg_hai_rate][index=0]/config/value": "\"50\"", p1 + "/params/param[name=rpg_gd][index=0]/config/value": "11",
	} {
		if got := reads(t, c, at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
	if got := reads(t, c, rate1+"/value"); !strings.Contains(got, "nothing is there") {
		t.Errorf("the deleted leaf reads %s", got)
	}
}

func TestSetSplitsLists(t *testing.T) {
	t.Parallel()
	c := single(t, port())
	_, err := c.Set(short(t), &gnmi.SetRequest{Update: []*gnmi.Update{update(p2, `{"params":{"param":[
		{"name":"a","index":0,"config":{"value":1}},{"name":"b","index":3,"config":{"value":"18446744073709551615"}}]}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := reads(t, c, p2+"/params/param[name=b][index=3]/config/value"); got != `"18446744073709551615"` {
		t.Errorf("reads %s", got)
	}
}

func TestSetIsAtomic(t *testing.T) {
	t.Parallel()
	c := single(t, port())
	_, err := c.Set(short(t), &gnmi.SetRequest{Update: []*gnmi.Update{update(rate1, `{"value":7}`), update(p1+"/state/mac", `"x"`)}})
	refused(t, "read only", err, codes.PermissionDenied, "/state/mac")
	if got := reads(t, c, rate1+"/value"); got != "5" {
		t.Errorf("after a failed Set the leaf is %s, want 5", got)
	}
}

func TestSetRefuses(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{Operations: 3}})
	u := func(v *gnmi.TypedValue) *gnmi.SetRequest {
		return &gnmi.SetRequest{Update: []*gnmi.Update{{Path: wire(rate1 + "/value"), Val: v}}}
	}
	for _, tc := range []struct {
		name  string
		r     *gnmi.SetRequest
		code  codes.Code
		words []string
	}{
		{"union_replace", &gnmi.SetRequest{UnionReplace: []*gnmi.Update{update(rate1, "{}")}}, codes.Unimplemented, []string{"union_replace"}},
		{"a wildcard", &gnmi.SetRequest{Delete: []*gnmi.Path{wire("/nics/nic[name=*]")}}, codes.InvalidArgument, []string{"/nics/nic[name=*]", "wildcards"}},
		{"any depth", &gnmi.SetRequest{Replace: []*gnmi.Update{update("/.../config", "{}")}}, codes.InvalidArgument, []string{"wildcards"}},
		{"too many operations", &gnmi.SetRequest{Delete: []*gnmi.Path{wire("/a"), wire("/b"), wire("/c"), wire("/d")}}, codes.InvalidArgument, []string{"4 operations, want at most 3"}},
		{"no value", u(nil), codes.InvalidArgument, []string{rate1 + "/value", "no value"}},
		{"the old field", &gnmi.SetRequest{Update: []*gnmi.Update{oldUpdate()}}, codes.InvalidArgument, []string{"want val"}},
		{"ASCII", u(&gnmi.TypedValue{Value: &gnmi.TypedValue_AsciiVal{AsciiVal: "5"}}), codes.InvalidArgument, []string{"Ascii", "want a scalar"}},
		{"a message", u(&gnmi.TypedValue{Value: &gnmi.TypedValue_ProtoBytes{}}), codes.InvalidArgument, []string{"ProtoBytes"}},
		{"no JSON", u(ietf("{")), codes.InvalidArgument, []string{rate1 + "/value", "no JSON"}},
		{"null", u(ietf("null")), codes.InvalidArgument, []string{"null"}},
		{"a duplicate member", u(ietf(`{"value":1,"value":2}`)), codes.InvalidArgument, []string{`"value" twice`}},
		{"nested JSON", u(ietf(strings.Repeat("[", 65) + strings.Repeat("]", 65))), codes.InvalidArgument, []string{"too deep"}},
		{"an array at a node that is no list", u(ietf(`[{"a":1}]`)), codes.InvalidArgument, []string{"this is no list"}},
		{"an entry without a key", &gnmi.SetRequest{Update: []*gnmi.Update{update(p1+"/params", `{"param":[{"name":"x"}]}`)}}, codes.InvalidArgument, []string{"entry 0", `key "index" is missing`}},
		{"an entry with another key", &gnmi.SetRequest{Update: []*gnmi.Update{update(p1, `{"number":7}`)}}, codes.InvalidArgument, []string{`"number" is`, `the path says "1"`}},
		{"a confirmed commit", &gnmi.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{}}}}, codes.Unimplemented, []string{"Commit"}},
	} {
		_, err := c.Set(short(t), tc.r)
		refused(t, tc.name, err, tc.code, tc.words...)
	}
	if got := reads(t, c, rate1+"/value"); got != "5" {
		t.Errorf("rejected Sets changed the leaf to %s, want 5", got)
	}
}

func claim(role string, high, low uint64) *gnmi.SetRequest {
	m := &gnmi_ext.MasterArbitration{ElectionId: &gnmi_ext.Uint128{High: high, Low: low}}
	if role != "" {
		m.Role = &gnmi_ext.Role{Id: role}
	}
	return &gnmi.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: m}}}}
}

func TestMasterArbitration(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{Roles: 2}})
	set := func(r *gnmi.SetRequest) error { _, err := c.Set(short(t), r); return err }
	for i, tc := range []struct {
		r     *gnmi.SetRequest
		code  codes.Code
		words string
	}{
		{claim("", 0, 5), codes.OK, ""},
		{claim("", 0, 5), codes.OK, ""},
		{claim("", 0, 4), codes.PermissionDenied, "election id 4"},
		{&gnmi.SetRequest{}, codes.OK, ""},
		{claim("", 1, 0), codes.OK, ""},
		{claim("", 0, 6), codes.PermissionDenied, "0x10000000000000000"},
		{claim("qos", 0, 1), codes.OK, ""},
		{claim("third", 0, 1), codes.ResourceExhausted, `"third"`},
		{&gnmi.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{}}}}, codes.InvalidArgument, "no election id"},
		{&gnmi.SetRequest{Extension: append(claim("", 1, 0).Extension, claim("qos", 1, 0).Extension...)}, codes.InvalidArgument, "twice"},
		{claim(strings.Repeat("r", 300), 1, 0), codes.InvalidArgument, "300 bytes"},
	} {
		err := set(tc.r)
		if tc.code == codes.OK && err != nil {
			t.Errorf("request %d: %v", i, err)
		} else if tc.code != codes.OK {
			refused(t, tc.r.String(), err, tc.code, tc.words)
		}
	}
}

// slow is a tree whose Set waits until the test releases it.
type slow struct {
	*memory
	entered chan struct{}
	release chan struct{}
}

func (s *slow) Set(ctx context.Context, ops []gnmitree.Operation) (gnmitree.Result, error) {
	s.entered <- struct{}{}
	<-s.release
	return s.memory.Set(ctx, ops)
}

// TestSetsOfATargetAreSerialized has a former master wait while a new one is elected.
func TestSetsOfATargetAreSerialized(t *testing.T) {
	t.Parallel()
	s := &slow{port(), make(chan struct{}, 9), make(chan struct{})}
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(s)})
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := c.Set(short(t), claim("", 0, 1)); err != nil {
			t.Error(err)
		}
	})
	<-s.entered
	ctx, cancel := context.WithCancel(short(t))
	wait.Go(func() {
		_, err := c.Set(ctx, claim("", 0, 2))
		refused(t, "a Set cancelled while it waits", err, codes.Canceled)
	})
	cancel()
	wait.Go(func() {
		if _, err := c.Set(short(t), claim("", 0, 2)); err != nil {
			t.Error(err)
		}
	})
	s.release <- struct{}{}
	<-s.entered // only now has the second Set entered
	s.release <- struct{}{}
	wait.Wait()
	_, err := c.Set(short(t), claim("", 0, 1))
	refused(t, "the former master", err, codes.PermissionDenied)
	if len(s.entered) != 0 {
		t.Error("a refused Set reached the tree")
	}
}

func TestAuthorizeAndObserve(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var received []string
	c, _ := serve(t, gnmitree.Options{
		Targets: gnmitree.Single(port()), Authorize: gnmitree.AllowSet("manager"),
		Observe: func(c gnmitree.Call, _ time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			received = append(received, c.Method+" "+c.Target+" "+map[bool]string{true: "ok", false: "refused"}[err == nil])
		},
	})
	_, err := c.Set(short(t), &gnmi.SetRequest{Prefix: &gnmi.Path{Target: "x"}})
	refused(t, "set without a certificate", err, codes.PermissionDenied, `one of ["manager"]`)
	if got := reads(t, c, rate1+"/value"); got != "5" {
		t.Errorf("reads %s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	same(t, "calls", received, "Set x refused", "Get  ok")
}

func TestInvalidServerOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []gnmitree.Options{{}, {Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{Paths: -1}}, {Targets: gnmitree.Single(port()), Limits: gnmitree.Limits{SendTimeout: -1}}} {
		if _, err := gnmitree.NewServer(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}
