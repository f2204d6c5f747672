package structure_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"fairlane/ccconfig/structure"
)

// patch applies operations as RFC 6902 requires: the parent of a path must exist, and so must what is replaced or removed. The updater of SONiC
// refuses a result with an empty table.
func patch(t *testing.T, doc map[string]any, ops []structure.Op) {
	t.Helper()
	text, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		at, words := doc, strings.Split(fmt.Sprint(o["path"]), "/")[1:]
		for _, word := range words[:len(words)-1] {
			parent, ok := at[word].(map[string]any)
			if !ok {
				t.Fatalf("%v: there is no %s", o, word)
			}
			at = parent
		}
		last := strings.NewReplacer("~1", "/", "~0", "~").Replace(words[len(words)-1])
		_, there := at[last]
		value, has := o["value"]
		switch {
		case o["op"] == "add" && has:
			at[last] = value
		case o["op"] == "replace" && has && there:
			at[last] = value
		case o["op"] == "remove" && there:
			delete(at, last)
		default:
			t.Fatalf("%v: invalid where %s exists: %t", o, last, there)
		}
	}
	for name, rows := range doc {
		if rows, ok := rows.(map[string]any); ok && len(rows) == 0 {
			t.Errorf("table %s is empty", name)
		}
	}
}

// document returns tables as a decoded config_db.json.
func document(t *testing.T, tables structure.Tables) map[string]any {
	t.Helper()
	text, err := json.Marshal(tables)
	var out map[string]any
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPatchesMakeAndRemoveTables applies the patches of a switch that lacks most tables, in the order of the plan and back.
func TestPatchesMakeAndRemoveTables(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(structure.Tables){
		"some tables are missing": nil,
		"a row without fields":    func(t structure.Tables) { t["QUEUE"]["Ethernet4|0-2"] = map[string]string{} },
		"no queues at all":        func(t structure.Tables) { delete(t, "QUEUE"); delete(t, "SCHEDULER"); delete(t, "PORT_QOS_MAP") },
	} {
		tables := config(change)
		doc, before := document(t, tables), document(t, tables)
		w := want("26:3,34:1")
		w.CNP.Queue = 2
		p, err := structure.Compute(tables, w)
		if err != nil || len(p.Steps) == 0 {
			t.Fatalf("%s: %+v: %v", name, p, err)
		}
		for _, s := range p.Steps {
			patch(t, doc, s.Ops)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		after, err := structure.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := structure.Compute(after, w)
		if err != nil || len(again.Steps) != 0 {
			t.Errorf("%s: after the plan: %+v: %v", name, again, err)
		}
		for i := range p.Steps {
			patch(t, doc, p.Steps[len(p.Steps)-1-i].Undo)
		}
		if !reflect.DeepEqual(doc, before) {
			t.Errorf("%s: undone:\n%v\nwant\n%v", name, doc, before)
		}
	}
}

// TestClassesOfOtherNumbersGetTheirGroup has DSCP 26 in class 5, which queue 3 serves: its priority group must become that of its pause.
func TestClassesOfOtherNumbersGetTheirGroup(t *testing.T) {
	t.Parallel()
	same := map[string]string{"0": "0", "3": "3", "5": "5", "6": "6"}
	for name, c := range map[string]struct {
		tc     string // of DSCP 26
		groups map[string]string
		done   bool
	}{
		"the class of its queue":             {"3", same, true},
		"another class of the same queue":    {"5", same, false},
		"another class in its group as well": {"3", map[string]string{"0": "3", "3": "3", "6": "6"}, false},
	} {
		tables := config(func(t structure.Tables) {
			maps := map[string]string{"dscp_to_tc_map": "A", "tc_to_queue_map": "A", "tc_to_pg_map": "A", "pfc_to_queue_map": "A", "pfc_enable": "3"}
			t["PORT_QOS_MAP"] = map[string]map[string]string{"Ethernet0": maps, "Ethernet4": maps}
			t["DSCP_TO_TC_MAP"]["A"] = map[string]string{"26": c.tc, "48": "6"}
			t["TC_TO_QUEUE_MAP"] = map[string]map[string]string{"A": {"0": "0", "3": "3", "5": "3", "6": "6"}}
			t["TC_TO_PRIORITY_GROUP_MAP"] = map[string]map[string]string{"A": c.groups}
			t["MAP_PFC_PRIORITY_TO_QUEUE"] = map[string]map[string]string{"A": {"3": "3"}}
		})
		p, err := structure.Compute(tables, want("26:3"))
		if err != nil {
			t.Fatal(err)
		}
		var row map[string]string
		made := map[string]map[string]string{"TC_TO_PRIORITY_GROUP_MAP|A": c.groups}
		for _, s := range p.Steps {
			for _, o := range s.Ops {
				made[o.Table+"|"+o.Key] = o.Value
				if o.Table == "PORT_QOS_MAP" && o.Key == "Ethernet0" {
					row = o.Value
				}
			}
		}
		switch {
		case c.done && row != nil:
			t.Errorf("%s: the plan changes %v", name, row)
		case !c.done && made["TC_TO_PRIORITY_GROUP_MAP|"+row["tc_to_pg_map"]]["3"] != "3":
			t.Errorf("%s: row %v, made %v", name, row, made)
		case c.tc != "3" && made["DSCP_TO_TC_MAP|"+row["dscp_to_tc_map"]]["26"] != "3":
			t.Errorf("%s: row %v, made %v", name, row, made)
		}
	}
}

func TestRowsOfOthersAreNotOverwritten(t *testing.T) {
	t.Parallel()
	limited := map[string]string{"type": "STRICT", "pir": "1000"}
	p, err := structure.Compute(config(func(t structure.Tables) {
		t["SCHEDULER"]["fairlane_strict"] = limited
		t["QUEUE"]["Ethernet0|4"] = map[string]string{"scheduler": "other"} // besides Ethernet0|3-4
	}), want("26:3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Steps {
		for _, o := range s.Ops {
			if o.Table == "SCHEDULER" && (o.Op != "add" || maps.Equal(o.Value, limited)) || o.Table == "QUEUE" && o.Key == "Ethernet0|4" {
				t.Errorf("%+v", o)
			}
		}
	}
}

func TestRowsThatNoPlanCanDescribe(t *testing.T) {
	t.Parallel()
	_, err := structure.Parse([]byte(`{"PORT": {"Ethernet0": {}}, "QUEUE": {"leaf-1|asic0|Ethernet0|3": {}}}`))
	if err == nil || !strings.Contains(err.Error(), "leaf-1|asic0|Ethernet0|3") {
		t.Errorf("virtual output queues: %v", err)
	}
	p, err := structure.Compute(config(func(t structure.Tables) {
		t["PORT_QOS_MAP"] = map[string]map[string]string{"Ethernet0,Ethernet4": {"pfc_enable": "3"}}
	}), want("26:3"))
	if err != nil || len(p.Obstacles) != 1 || p.Obstacles[0].Reason != structure.SeveralPorts || len(p.Obstacles[0].Ports) != 2 {
		t.Errorf("a row of two ports: %+v: %v", p, err)
	}
}
