package workload_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/quantity"
	"fairlane/sim/workload"
)

const header = workload.TraceHeader + "\n"

func TestTrace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []workload.Arrival
	}{
		"five columns": {header + "0,0,20,200000000,0\n7,3,1,5,1500\n", []workload.Arrival{
			{Flow: 0, Src: 0, Dst: 20, Bytes: 200_000_000}, {At: 1500 * quantity.Nanosecond, Flow: 7, Src: 3, Dst: 1, Bytes: 5},
		}},
		"labels, decimals, CR, no last newline": {
			workload.TraceHeader + ",tenant,tag\r\n0,0,1,5,2.5,12,255\r\n1,0,1,5,2.501,0,0",
			[]workload.Arrival{
				{At: 2500, Flow: 0, Src: 0, Dst: 1, Bytes: 5, Label: workload.Label{Tenant: 12}},
				{At: 2501, Flow: 1, Src: 0, Dst: 1, Bytes: 5, Tags: 1},
			},
		},
		"no flows": {header, nil},
	} {
		s := must[*workload.Trace](t)(workload.NewTrace(strings.NewReader(c.text), 21))
		if diff := cmp.Diff(c.want, take(s, 0)); diff != "" || s.Err() != nil {
			t.Errorf("%s: %v (-want +got)\n%s", name, s.Err(), diff)
		}
	}
}

func TestWrongTracesAreNamedByLineAndColumn(t *testing.T) {
	t.Parallel()
	const ok = "0,0,1,5,100\n"
	for text, want := range map[string]string{
		"":                                                             `trace: line 1: header "": want "flow_id,src,dst,size_bytes,start_ns"`,
		"id,src,dst,size,start\n":                                      `trace: line 1: header "id,src,dst,size,start"`,
		header + "\n":                                                  `trace: line 2: column flow_id: "": want a whole number`,
		header + ok + "1,0,1,5,100,0\n":                                `trace: line 3: 6 columns: want 5`,
		header + ok + "1,0,1,5\n":                                      `trace: line 3: 4 columns: want 5`,
		header + "-1,0,1,5,0\n":                                        `line 2: column flow_id: "-1": want a whole number from 0 to 9223372036854775807`,
		header + "a,0,1,5,0\n":                                         `column flow_id: "a"`,
		header + "0,21,1,5,0\n":                                        `line 2: column src: "21": want a whole number from 0 to 20`,
		header + "0,0,999,5,0\n":                                       `line 2: column dst: "999": want a whole number from 0 to 20`,
		header + "0,3,3,5,0\n":                                         `line 2: column dst: 3 is also the source`,
		header + "0,0,1,0,0\n":                                         `column size_bytes: "0": want a whole number from 1 to 1125899906842624`,
		header + "0,0,1,1e3,0\n":                                       `column size_bytes: "1e3"`,
		header + "0,0,1, 5,0\n":                                        `column size_bytes: " 5"`,
		header + `0,0,1,"5",0` + "\n":                                  `column size_bytes: "\"5\""`,
		header + "0,0,1,5,\n":                                          `column start_ns: ""`,
		header + "0,0,1,5,1.\n":                                        `column start_ns: "1.": want one to three digits after the point`,
		header + "0,0,1,5,1.2345\n":                                    `column start_ns: "1.2345": want one to three digits`,
		header + "0,0,1,5,1.+2\n":                                      `column start_ns: "1.+2"`,
		header + "0,0,1,5,1000000000000000.5\n":                        `column start_ns: 1000000000000000.500: want at most 1000000000000000`,
		header + "0,0,1,5,1000000000000001\n":                          `column start_ns: "1000000000000001": want a whole number from 0 to 1000000000000000`,
		header + ok + "1,0,1,5,99.999\n":                               `line 3: column start_ns: 99.999 is earlier than the line above`,
		header + strings.Repeat("1", 1100):                             `trace: line 2: too long: want less than 1024 bytes`,
		strings.Repeat("f", 1100):                                      `trace: line 1: too long`,
		header + ok + "7,0,1,5,100\n" + "0,0,1,5,200\n":                `trace: line 4: column flow_id: 0 repeats an earlier number: want each number once`,
		workload.TraceHeader + ",tenant,tag\n0,0,1,5,0,0,a;b\n":        `line 2: column tag: "a;b": want at most 64 letters, digits, spaces and ._:/+-`,
		workload.TraceHeader + ",tag,tag\n":                            `line 1: header "flow_id,src,dst,size_bytes,start_ns,tag,tag": want`,
		workload.TraceHeader + ",weight\n":                             `line 1: header "flow_id,src,dst,size_bytes,start_ns,weight": want "flow_id,src,dst,size_bytes,start_ns", then columns tenant, tag or tag_NAME`,
		workload.TraceHeader + ",\n":                                   `line 1: header`,
		workload.TraceHeader + ",tenant,tag\n0,0,1,5,0,2147483648,0\n": `column tenant: "2147483648"`,
		workload.TraceHeader + ",tenant,tag\n0,0,1,5,0\n":              `5 columns: want 7`,
	} {
		s, err := workload.NewTrace(strings.NewReader(text), 21)
		if err == nil {
			take(s, 0)
			err = s.Err()
			if _, more := s.Next(); more {
				t.Errorf("%q: Next returned a flow after the error", text)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := workload.NewTrace(strings.NewReader(header), 1); err == nil {
		t.Error("NewTrace accepted a single host")
	}
}

func TestAFailingReaderEndsTheTraceWithItsError(t *testing.T) {
	t.Parallel()
	broken := errors.New("cable cut")
	if _, err := workload.NewTrace(iotest.ErrReader(broken), 2); !errors.Is(err, broken) {
		t.Errorf("header: %v", err)
	}
	// A line that the reader could not complete is not a line, even if it is valid.
	text := io.MultiReader(strings.NewReader(header+"0,0,1,5,7\n1,0,1,5,100"), iotest.ErrReader(broken))
	s := must[*workload.Trace](t)(workload.NewTrace(iotest.OneByteReader(text), 2))
	if got := take(s, 0); len(got) != 1 || got[0].At != 7*quantity.Nanosecond {
		t.Errorf("flows %+v, want the flow at 7 ns", got)
	}
	if err := s.Err(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "trace: read line 3") {
		t.Error(err)
	}
}

func TestWriteReadRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var at quantity.Picoseconds
		var flows []workload.Arrival
		for i := range rapid.IntRange(0, 20).Draw(rt, "flows") {
			at += quantity.Picoseconds(rapid.Int64Range(0, 5_000_000_000).Draw(rt, "gap"))
			src := rapid.Int32Range(0, 98).Draw(rt, "src")
			flows = append(flows, workload.Arrival{
				At: at, Flow: int64(i), Src: src, Dst: rapid.Int32Range(src+1, 99).Draw(rt, "dst"),
				Bytes: rapid.Int64Range(1, workload.MaxBytes).Draw(rt, "bytes"),
				Label: workload.Label{Tenant: rapid.Int32Range(0, 1<<31-1).Draw(rt, "tenant"), Tag: rapid.Uint8().Draw(rt, "tag")},
			})
		}
		var out bytes.Buffer
		list, err := workload.NewList(flows)
		if err != nil {
			rt.Fatal(err)
		}
		if n, err := writeTrace(&out, list); err != nil || n != len(flows) {
			rt.Fatal(n, err)
		}
		back, err := workload.NewTrace(&out, 100)
		if err != nil {
			rt.Fatal(err)
		}
		read := take(back, 0)
		for i := range read {
			tag, err := strconv.ParseUint(back.Tags(read[i].Tags)[0], 10, 8)
			if err != nil {
				rt.Fatal(err)
			}
			read[i].Tag, read[i].Tags = uint8(tag), 0
		}
		if diff := cmp.Diff(flows, read); diff != "" || back.Err() != nil {
			rt.Fatalf("%v (-written +read)\n%s", back.Err(), diff)
		}
	})
}

// writeTrace writes the flows of a source as a trace with labels and returns their number.
func writeTrace(w io.Writer, s workload.Source) (int, error) {
	if _, err := io.WriteString(w, workload.TraceHeader+",tenant,tag\n"); err != nil {
		return 0, err
	}
	n := 0
	for a, ok := s.Next(); ok; a, ok = s.Next() {
		if _, err := fmt.Fprintf(w, "%d,%d,%d,%d,%d.%03d,%d,%d\n", a.Flow, a.Src, a.Dst, a.Bytes,
			a.At/quantity.Nanosecond, a.At%quantity.Nanosecond, a.Tenant, a.Tag); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(header + "0,0,20,200000000,0\n1,1,20,5,1.25\n"))
	f.Add([]byte(workload.TraceHeader + ",tenant,tag\n0,0,1,5,2.5,12,255\n"))
	f.Add([]byte(header + "0,0,1,0,-1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := workload.NewTrace(bytes.NewReader(data), 50)
		if err != nil {
			return
		}
		flows := take(s, 0)
		var last quantity.Picoseconds
		for _, a := range flows {
			if a.At < last || a.Src == a.Dst || min(a.Src, a.Dst) < 0 || max(a.Src, a.Dst) > 49 || a.Bytes < 1 || a.Flow < 0 {
				t.Fatalf("accepted %+v", a)
			}
			last = a.At
		}
		list, err := workload.NewList(flows)
		if err != nil {
			t.Fatalf("NewList rejects flows that NewTrace accepts: %v", err)
		}
		var out bytes.Buffer
		if _, err := writeTrace(&out, list); err != nil {
			t.Fatal(err)
		}
		back, err := workload.NewTrace(&out, 50)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(flows, take(back, 0)); diff != "" || back.Err() != nil {
			t.Fatalf("%v (-first +second reading)\n%s", back.Err(), diff)
		}
	})
}

func TestTagsOfATrace(t *testing.T) {
	t.Parallel()
	s := must[*workload.Trace](t)(workload.NewTrace(strings.NewReader(workload.TraceHeader+",tag_job,tenant,tag\n"+
		"5,0,1,5,0,all reduce,1,\n3,0,1,5,0,,0,web\n4,0,1,5,0,all reduce,1,\n"), 2))
	if diff := cmp.Diff([]string{"tag_job", "tag"}, s.TagColumns()); diff != "" {
		t.Error(diff)
	}
	var got [][]string
	var sets []int32
	for _, a := range take(s, 0) {
		got, sets = append(got, s.Tags(a.Tags)), append(sets, a.Tags)
	}
	if diff := cmp.Diff([][]string{{"all reduce", ""}, {"", "web"}, {"all reduce", ""}}, got); diff != "" || s.Err() != nil || sets[0] != sets[2] {
		t.Errorf("%v, sets %v\n%s", s.Err(), sets, diff)
	}
}
