package app_test

import (
	"strings"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"

	"fairlane/ccconfig/gnmi/gnmitest"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/testkit/tlstest"
)

// TestGnmiCli drives the agent's process with a third-party client.
func TestGnmiCli(t *testing.T) {
	t.Parallel()
	m, ca := newMachine(t), tlstest.New(t)
	config := m.config("target: host-1\nintervals: {sweep: 100ms}\n" + serving(ca))
	own := ca.Issue("manager", tlstest.Valid())
	address, _, _ := start(t, config, nil)
	c := gnmitest.New(t, address, "-ca_crt", ca.File, "-client_crt", own.CertFile, "-client_key", own.KeyFile)
	caps, err := c.Capabilities()
	if err != nil || caps.GetSupportedModels()[0].GetName() != nicyang.Module || caps.GetSupportedModels()[0].GetVersion() != nicyang.Revision {
		t.Fatal(caps, err)
	}
	at := &gnmi.Path{Target: "host-1"}
	params := "nics/nic[name=" + nic + "]/ports/port[number=1]/params"
	stream := c.Stream("host-1", params)
	if line, err := stream.Until("rpg_ai_rate", "config/value", "5"); err != nil {
		t.Fatal(line, err)
	}
	json := func(text string) *gnmi.TypedValue {
		return &gnmi.TypedValue{Value: &gnmi.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
	}
	update := &gnmi.Update{Path: aiRate(), Val: json(`"40"`)}
	if _, err := c.Set(&gnmi.SetRequest{Prefix: at, Update: []*gnmi.Update{update}}); err != nil {
		t.Fatal(err)
	}
	if line, err := stream.Until("rpg_ai_rate", "config/value", "40"); err != nil || m.value("rpg_ai_rate") != "40" {
		t.Error(line, err, m.value("rpg_ai_rate"))
	}
	m.file(rp+"rpg_ai_rate", "33") // another program
	if line, err := stream.Until("rpg_ai_rate", "outcome", "overridden"); err != nil {
		t.Error(line, err)
	}
	update.Val = json(`"131072"`)
	if _, err := c.Set(&gnmi.SetRequest{Prefix: at, Update: []*gnmi.Update{update}}); err == nil || !strings.Contains(err.Error(), "0..131071") {
		t.Error(err)
	}
	once, err := c.Once("host-1", "nics/nic[name=*]/ports/port[number=*]/counters")
	if err != nil || !strings.Contains(once, "np_cnp_sent") || !strings.Contains(once, "11") {
		t.Error(once, err)
	}
	got, err := c.Get(&gnmi.GetRequest{Prefix: at, Path: []*gnmi.Path{nicyang.Port(nic, 1).Proto()}, Type: gnmi.GetRequest_CONFIG, Encoding: gnmi.Encoding_JSON_IETF})
	if err != nil {
		t.Fatal(err)
	}
	view, err := nicyang.DecodePort(got.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range view.Set(1) {
		if s.Key == (nicparam.Key{Port: 1, Name: "rpg_ai_rate"}) && s.Value != 33 {
			t.Errorf("%+v", s)
		}
	}
	if _, err := c.Get(&gnmi.GetRequest{Prefix: at, Path: []*gnmi.Path{gnmitree.PathOf("nics").Child("nic", gnmitree.Key{Name: "name", Value: "z"}).Proto()}}); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Error(err)
	}
}
