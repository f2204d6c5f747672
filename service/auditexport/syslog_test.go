package auditexport

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"fairlane/service/audit"
)

var (
	head  = regexp.MustCompile(`^<(\d{1,3})>1 (\S+) ([!-~]{1,255}) fairlane - ([!-~]{1,32}) \[fairlane@32473`)
	param = regexp.MustCompile(`^ ([a-z_]{1,32})="((?:[^"\\\]]|\\["\\\]])*)"`)
)

// parse reads a message as a receiver does, and returns the entry in it.
func parse(text string) (e audit.Entry, err error) {
	m := head.FindStringSubmatch(text)
	if m == nil || !utf8.ValidString(text) {
		return e, fmt.Errorf("no message of RFC 5424: %q", text)
	}
	if e.At, err = time.Parse(time.RFC3339Nano, m[2]); err != nil {
		return e, err
	}
	text = text[len(m[0]):]
	values := map[string]string{}
	for p := param.FindStringSubmatch(text); p != nil; p = param.FindStringSubmatch(text) {
		values[p[1]] = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\]`, `]`).Replace(p[2])
		text = text[len(p[0]):]
	}
	rest, ok := strings.CutPrefix(text, "]")
	if !ok {
		return e, fmt.Errorf("structured data does not end: %q", text)
	}
	if rest != "" {
		if e.Detail, ok = strings.CutPrefix(rest, " \xef\xbb\xbf"); !ok {
			return e, fmt.Errorf("the sentence is %q", rest)
		}
	}
	e.Actor, e.ActorKind, e.Token, e.Addr, e.RequestID = values["actor"], values["actor_kind"], values["token"], values["addr"], values["request_id"]
	e.Fabric, e.Action, e.Object, e.Outcome = values["fabric"], values["action"], values["object"], values["outcome"]
	e.Before, e.After = raw(values["before"]), raw(values["after"])
	if e.Seq, err = strconv.ParseInt(values["seq"], 10, 64); err != nil {
		return e, err
	}
	if e.Prev, err = audit.ParseHash(values["prev"]); err == nil {
		e.Hash, err = audit.ParseHash(values["hash"])
	}
	if want := map[string]string{audit.Refused: "108"}[e.Outcome]; err == nil && m[1] != want && (want != "" || m[1] != "109") {
		err = fmt.Errorf("priority %s of the outcome %s", m[1], e.Outcome)
	}
	if err == nil && values["omitted"] == "" && e.Sum() != e.Hash {
		err = fmt.Errorf("entry %d: the hash of what was received differs", e.Seq)
	}
	return e, err
}

func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

func TestTheHashFollowsFromTheMessage(t *testing.T) {
	t.Parallel()
	text := rapid.StringN(0, 30, 100)
	rapid.Check(t, func(t *rapid.T) {
		e := audit.Entry{
			At: time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")), Actor: text.Draw(t, "actor"), ActorKind: "user", Token: text.Draw(t, "token"),
			Addr: text.Draw(t, "addr"), Fabric: text.Draw(t, "fabric"), Action: text.Draw(t, "action"), Object: text.Draw(t, "object"),
			Outcome: rapid.SampledFrom([]string{audit.Done, audit.Refused}).Draw(t, "outcome"), Detail: text.Draw(t, "detail"),
		}
		big := rapid.SampledFrom([]int{0, 10, maxMessage}).Draw(t, "size")
		if big > 0 {
			e.Before, _ = json.Marshal(strings.Repeat(`"]\`, big/3))
		}
		e, err := audit.Tail{Seq: 41, Hash: audit.Hash{1}}.Append(e)
		if err != nil {
			t.Fatal(err)
		}
		message := format(&e, text.Draw(t, "host"))
		if len(message) > maxMessage {
			t.Fatalf("%d bytes", len(message))
		}
		got, err := parse(string(message))
		if err != nil {
			t.Fatalf("%v in %s", err, message)
		}
		if got.Seq != e.Seq || got.Hash != e.Hash || got.Prev != e.Prev || got.Detail != e.Detail || (len(got.Before) == 0) != (big == maxMessage || big == 0) {
			t.Errorf("got %+v of %s", got, message)
		}
	})
}

func TestAnEntryOfAnySizeFitsOneMessage(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("红", 1<<16)
	e, err := audit.Tail{}.Append(audit.Entry{
		At: time.Unix(1, 0), Actor: huge, ActorKind: huge, Token: huge, Addr: huge, RequestID: huge, Fabric: huge, Action: huge, Object: huge, Outcome: huge, Detail: huge,
	})
	if err != nil {
		t.Fatal(err)
	}
	message := format(&e, huge)
	got, err := parse(string(message))
	if err != nil || len(message) > maxMessage || got.Hash != e.Hash || !strings.Contains(string(message), `omitted="before after texts"`) {
		t.Errorf("%d bytes, %v: %s", len(message), err, message)
	}
}
