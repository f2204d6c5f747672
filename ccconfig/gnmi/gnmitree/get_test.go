package gnmitree_test

import (
	"context"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"fairlane/ccconfig/gnmi/gnmitree"
)

const p1, p2 = "/nics/nic[name=a]/ports/port[number=1]", "/nics/nic[name=a]/ports/port[number=2]"

func TestCapabilities(t *testing.T) {
	t.Parallel()
	r, err := single(t, port()).Capabilities(short(t), &gnmi.CapabilityRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &gnmi.CapabilityResponse{
		SupportedModels:    []*gnmi.ModelData{{Name: "fairlane-nic", Organization: "Fairlane", Version: "1.0.0"}},
		SupportedEncodings: []gnmi.Encoding{gnmi.Encoding_JSON, gnmi.Encoding_JSON_IETF, gnmi.Encoding_PROTO}, GNMIVersion: "0.10.0",
	}
	if !proto.Equal(r, want) {
		t.Errorf("capabilities are %v, want %v", r, want)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	c := single(t, port())
	for _, tc := range []struct {
		name   string
		prefix string
		path   string
		kind   gnmi.GetRequest_DataType
		enc    gnmi.Encoding
		want   []string
	}{
		{"a leaf", "/", p1 + "/state/speed-mbps", gnmi.GetRequest_ALL, gnmi.Encoding_JSON_IETF, []string{p1 + `/state/speed-mbps = "400000"`}},
		{"a leaf as plain JSON", "/", p1 + "/state/speed-mbps", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/state/speed-mbps = 400000`}},
		{"a leaf as a scalar", "/", p1 + "/state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_PROTO, []string{p1 + `/state/mac = "02:00:00:00:00:01"`}},
		{"a qualified name", "/", "/fairlane-nic:nics/nic[name=a]/ports/port[number=1]/state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/state/mac = "02:00:00:00:00:01"`}},
		{"a container", "/", p1 + "/state", gnmi.GetRequest_ALL, gnmi.Encoding_JSON_IETF, []string{p1 + `/state = {"fairlane-nic:mac":"02:00:00:00:00:01","fairlane-nic:speed-mbps":"400000"}`}},
		{"its leaves", "/", p1 + "/state", gnmi.GetRequest_ALL, gnmi.Encoding_PROTO, []string{p1 + `/state/mac = "02:00:00:00:00:01"`, p1 + `/state/speed-mbps = "400000"`}},
		{"an entry's configuration", "/", p1, gnmi.GetRequest_CONFIG, gnmi.Encoding_JSON, []string{p1 + ` = {"number":"1","params":{"param":[{"index":"0","name":"rpg_ai_rate","config":{"value":5}}]}}`}},
		{"every entry", "/", "/nics/nic[name=a]/ports/port[number=*]/state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/state/mac = "02:00:00:00:00:01"`, p2 + `/state/mac = "02:00:00:00:00:02"`}},
		{"every entry by leaving out the key", "/", "/nics/nic/ports/port/state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/state/mac = "02:00:00:00:00:01"`, p2 + `/state/mac = "02:00:00:00:00:02"`}},
		{"at any depth", "/", "/.../config", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/params/param[index=0][name=rpg_ai_rate]/config = {"value":5}`, p2 + `/params/param[index=0][name=rpg_ai_rate]/config = {"value":5}`}},
		{"below a prefix", p1, "state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p1 + `/state/mac = "02:00:00:00:00:01"`}},
		{"below a prefix with a wildcard", "/nics/nic[name=*]", "ports/port[number=2]/state/mac", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, []string{p2 + `/state/mac = "02:00:00:00:00:02"`}},
		{"operational state", "/", p1 + "/state", gnmi.GetRequest_OPERATIONAL, gnmi.Encoding_JSON, []string{p1 + `/state = {"speed-mbps":400000}`}},
		{"state of a configuration path", "/", p1 + "/params/param/config", gnmi.GetRequest_STATE, gnmi.Encoding_JSON, nil},
		{"a wildcard without a match", "/", "/nics/nic[name=*]/wings", gnmi.GetRequest_ALL, gnmi.Encoding_JSON, nil},
	} {
		prefix := wire(tc.prefix)
		prefix.Target = "a"
		r, err := c.Get(short(t), &gnmi.GetRequest{Prefix: prefix, Path: []*gnmi.Path{wire(tc.path)}, Type: tc.kind, Encoding: tc.enc})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if len(r.GetNotification()) != 1 || r.GetNotification()[0].GetPrefix().GetTarget() != "a" {
			t.Errorf("%s: %v", tc.name, r)
		}
		same(t, tc.name, text(t, r.GetNotification()[0]), tc.want...)
	}
}

func TestGetOfSeveralPathsReturnsEach(t *testing.T) {
	t.Parallel()
	m := port()
	old := time.Unix(1000, 5)
	m.mu.Lock()
	m.set(gnmitree.Leaf{Path: path(p1 + "/state/mac"), Value: gnmitree.String("x"), Time: old})
	m.mu.Unlock()
	r, err := single(t, m).Get(short(t), &gnmi.GetRequest{Prefix: wire(p1), Path: []*gnmi.Path{wire("state/mac"), wire("state/speed-mbps")}})
	if err != nil {
		t.Fatal(err)
	}
	if n := r.GetNotification(); len(n) != 2 || n[0].GetTimestamp() != old.UnixNano() || n[1].GetTimestamp() <= old.UnixNano() || len(n[0].GetUpdate()[0].GetPath().GetElem()) != 2 {
		t.Errorf("answer %v, want two notifications with paths below the prefix, the first of %d", n, old.UnixNano())
	}
	if m.gets != 1 {
		t.Errorf("the tree was asked %d times, want once", m.gets)
	}
}

func TestGetRefuses(t *testing.T) {
	t.Parallel()
	m := port()
	m.info.Origins, m.info.Types = []string{"", "fairlane"}, []gnmitree.Type{gnmitree.TypeAll, gnmitree.TypeConfig, gnmitree.TypeState}
	c := single(t, m)
	deep := gnmitree.Path{}
	for range 65 {
		deep = deep.Child("x")
	}
	long := make([]byte, 1025)
	for i := range long {
		long[i] = 'k'
	}
	many := make([]*gnmi.Path, 1025)
	for i := range many {
		many[i] = wire("/nics")
	}
	one := func(p *gnmi.Path) *gnmi.GetRequest { return &gnmi.GetRequest{Path: []*gnmi.Path{p}} }
	for _, tc := range []struct {
		name  string
		r     *gnmi.GetRequest
		code  codes.Code
		words []string
	}{
		{"a missing node", one(wire("/nics/nic[name=b]")), codes.NotFound, []string{"/nics/nic[name=b]", "nothing is there"}},
		{"another target", &gnmi.GetRequest{Prefix: &gnmi.Path{Target: "b"}}, codes.NotFound, []string{`no target "b"`}},
		{"ASCII", &gnmi.GetRequest{Encoding: gnmi.Encoding_ASCII}, codes.Unimplemented, []string{"ASCII", "JSON_IETF"}},
		{"an invalid encoding", &gnmi.GetRequest{Encoding: 77}, codes.Unimplemented, []string{"77"}},
		{"a type it lacks", &gnmi.GetRequest{Type: gnmi.GetRequest_OPERATIONAL}, codes.Unimplemented, []string{"OPERATIONAL"}},
		{"an invalid type", &gnmi.GetRequest{Type: 9}, codes.InvalidArgument, []string{"9"}},
		{"a foreign origin", one(wire("openconfig:/nics")), codes.InvalidArgument, []string{`origin "openconfig"`, `"fairlane"`}},
		{"two origins", &gnmi.GetRequest{Prefix: &gnmi.Path{Origin: "fairlane"}, Path: []*gnmi.Path{{Origin: "b"}}}, codes.InvalidArgument, []string{"one of them"}},
		{"a target in a path", one(&gnmi.Path{Target: "a"}), codes.InvalidArgument, []string{"want that in the prefix"}},
		{"the old form", one(oldPath()), codes.InvalidArgument, []string{"want elem"}},
		{"an element without a name", one(&gnmi.Path{Elem: []*gnmi.PathElem{{Name: "nics"}, {}}}), codes.InvalidArgument, []string{"element 2 of /nics", "no name"}},
		{"a key without a name", one(&gnmi.Path{Elem: []*gnmi.PathElem{{Name: "nics", Key: map[string]string{"": "x"}}}}), codes.InvalidArgument, []string{"key without a name"}},
		{"a long key", one(gnmitree.Path{}.Child("nics", gnmitree.Key{Name: "name", Value: string(long)}).Proto()), codes.InvalidArgument, []string{"1025 bytes, want at most 1024"}},
		{"a long name", one(gnmitree.PathOf(string(long)).Proto()), codes.InvalidArgument, []string{"1025 bytes, want at most 256"}},
		{"a long target", &gnmi.GetRequest{Prefix: &gnmi.Path{Target: string(long)}}, codes.InvalidArgument, []string{"want at most 256"}},
		{"a deep path", one(deep.Proto()), codes.InvalidArgument, []string{"65 elements, want at most 64"}},
		{"a deep path in two parts", &gnmi.GetRequest{Prefix: deep.First(40).Proto(), Path: []*gnmi.Path{deep.First(25).Proto()}}, codes.InvalidArgument, []string{"65 elements", "prefix"}},
		{"many paths", &gnmi.GetRequest{Path: many}, codes.InvalidArgument, []string{"1025 paths, want at most 1024"}},
		{"a model it lacks", &gnmi.GetRequest{UseModels: []*gnmi.ModelData{{Name: "openconfig-qos"}}}, codes.InvalidArgument, []string{"openconfig-qos", "fairlane-nic"}},
		{"history", &gnmi.GetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_History{}}}}, codes.Unimplemented, []string{"History"}},
	} {
		_, err := c.Get(short(t), tc.r)
		refused(t, tc.name, err, tc.code, tc.words...)
	}
	if _, err := c.Get(short(t), &gnmi.GetRequest{Path: []*gnmi.Path{wire("/nics")}, UseModels: []*gnmi.ModelData{{Name: "fairlane-nic", Version: "1.0.0"}}}); err != nil {
		t.Errorf("its own model: %v", err)
	}
}

func TestErrorsOfTreesTravel(t *testing.T) {
	t.Parallel()
	m := port()
	c := single(t, m)
	m.fail = gnmitree.Errorf(codes.Unavailable, "the device is rebooting")
	_, err := c.Get(short(t), &gnmi.GetRequest{})
	refused(t, "get", err, codes.Unavailable, "rebooting")
	m.fail = errPlain{}
	_, err = c.Set(short(t), &gnmi.SetRequest{})
	refused(t, "set", err, codes.Internal, "plain")
}

type errPlain struct{}

func (errPlain) Error() string { return "plain" }

func TestResponseSizeIsBounded(t *testing.T) {
	t.Parallel()
	m := port()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(m), Limits: gnmitree.Limits{MessageBytes: 1000}})
	m.put("/big", gnmitree.String(string(make([]byte, 5000))), gnmitree.ClassState, false)
	_, err := c.Get(short(t), &gnmi.GetRequest{Path: []*gnmi.Path{wire("/big")}})
	refused(t, "a large answer", err, codes.ResourceExhausted, "more than 4000 bytes")
	_, err = c.Get(short(t), &gnmi.GetRequest{Prefix: &gnmi.Path{Target: string(make([]byte, 2000))}})
	refused(t, "a large request", err, codes.ResourceExhausted, "1000")
}

func TestManyTargetsBehindOneServer(t *testing.T) {
	t.Parallel()
	var r gnmitree.Registry
	c, _ := serve(t, gnmitree.Options{Targets: &r})
	get := func(target string) error {
		_, err := c.Get(short(t), &gnmi.GetRequest{Prefix: &gnmi.Path{Target: target}, Path: []*gnmi.Path{wire("/nics")}})
		return err
	}
	refused(t, "no targets", get(""), codes.NotFound, "0 targets")
	if err := r.Add("h1", port()); err != nil {
		t.Fatal(err)
	}
	if err := get(""); err != nil {
		t.Errorf("the only target, unnamed: %v", err)
	}
	if err := r.Add("h2", port()); err != nil {
		t.Fatal(err)
	}
	refused(t, "one of two, unnamed", get(""), codes.NotFound, "2 targets here without a default")
	refused(t, "neither", get("h3"), codes.NotFound, `"h3"`)
	if err := get("h2"); err != nil {
		t.Error(err)
	}
	r.Default("h1")
	if err := get(""); err != nil {
		t.Error(err)
	}
	if err := r.Add("h1", port()); err == nil {
		t.Error("a second target with the same name was accepted")
	}
	if err := r.Add("", port()); err == nil {
		t.Error("a target without a name was accepted")
	}
	if got := r.Models(); len(got) != 1 {
		t.Errorf("models are %v, want one", got)
	}
	r.Remove("h1")
	r.Remove("h1")
	r.Remove("h2")
	if got := r.Models(); len(got) != 0 || r.Len() != 0 {
		t.Errorf("models are %v of %d targets, want none", got, r.Len())
	}
}

// texts is a tree that returns a node as text where that is allowed, and otherwise as its leaf.
type texts struct{ gnmitree.Watchers }

func (*texts) Info() gnmitree.Info { return gnmitree.Info{Module: "m"} }

func (*texts) Get(_ context.Context, q gnmitree.Query) ([][]gnmitree.Leaf, error) {
	out := make([][]gnmitree.Leaf, len(q.Paths))
	for i, p := range q.Paths {
		if list := path("/box/list"); q.MayText(p, list) {
			out[i] = []gnmitree.Leaf{{Path: list, Value: gnmitree.JSONText(`{"n":"1"}`), Class: gnmitree.ClassConfig}}
			continue
		}
		out[i] = []gnmitree.Leaf{{Path: path("/box/list/n"), Value: gnmitree.Uint(1), Class: gnmitree.ClassConfig}}
	}
	return out, nil
}

func (*texts) Set(context.Context, []gnmitree.Operation) (gnmitree.Result, error) {
	return gnmitree.Result{}, nil
}

func TestNodeAsTextEqualsItsLeaves(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, gnmitree.Options{Targets: gnmitree.Single(&texts{}, "a")})
	for _, tc := range []struct {
		path string
		enc  gnmi.Encoding
		want string
	}{
		{"/", gnmi.Encoding_JSON_IETF, `/ = {"m:box":{"list":{"n":"1"}}}`},
		{"/", gnmi.Encoding_JSON, `/ = {"box":{"list":{"n":1}}}`},
		{"/", gnmi.Encoding_PROTO, `/box/list/n = "1"`},
		{"/box", gnmi.Encoding_JSON_IETF, `/box = {"m:list":{"n":"1"}}`},
		{"/box/list", gnmi.Encoding_JSON_IETF, `/box/list = {"m:n":"1"}`},
		{"/box/list/n", gnmi.Encoding_JSON_IETF, `/box/list/n = "1"`},
		{"/.../n", gnmi.Encoding_JSON_IETF, `/box/list/n = "1"`},
	} {
		r, err := c.Get(short(t), &gnmi.GetRequest{Path: []*gnmi.Path{wire(tc.path)}, Encoding: tc.enc})
		if err != nil {
			t.Fatal(err)
		}
		same(t, tc.path+" as "+tc.enc.String(), text(t, r.GetNotification()[0]), tc.want)
	}
}
