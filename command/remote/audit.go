package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/audit"
)

// auditFlags are the filters of `audit list`.
type auditFlags struct {
	actor, action, object, since, until string
	limit                               int
}

func (c *cli) audit() *cobra.Command {
	var f auditFlags
	list := c.verb("audit", "list", "  fairlane audit list --action tenant. --since 24h\n  fairlane audit list --actor ada -o json", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.auditList(cmd, f) })
	list.Flags().StringVar(&f.actor, "actor", "", c.t("flag.audit-actor"))
	list.Flags().StringVar(&f.action, "action", "", c.t("flag.audit-action"))
	list.Flags().StringVar(&f.object, "object", "", c.t("flag.audit-object"))
	list.Flags().StringVar(&f.since, "since", "", c.t("flag.audit-since"))
	list.Flags().StringVar(&f.until, "until", "", c.t("flag.audit-until"))
	list.Flags().IntVar(&f.limit, "limit", 100, c.t("flag.audit-limit"))
	var expect, from, to string
	verify := c.verb("audit", "verify", "  fairlane audit verify\n  fairlane audit verify --from audit.jsonl --expect 1207:9f86d0...", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.auditVerify(cmd, expect, from) })
	verify.Flags().StringVar(&expect, "expect", "", c.t("flag.audit-expect"))
	verify.Flags().StringVar(&from, "from", "", c.t("flag.audit-from"))
	export := c.verb("audit", "export", "  fairlane audit export --to audit.jsonl", cobra.NoArgs,
		func(cmd *cobra.Command, _ []string) error { return c.auditExport(cmd, to) })
	export.Flags().StringVar(&to, "to", "-", c.t("flag.audit-to"))
	return c.noun("audit", list, verify, export)
}

// instant parses a time in RFC 3339, or a duration before now, such as 36h.
func (c *cli) instant(flag, text string) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		at := time.Now().Add(-ago).UTC()
		return &at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, c.usage("err.time", "flag", flag, "found", fmt.Sprintf("%q", text))
	}
	return &at, nil
}

func (c *cli) auditList(cmd *cobra.Command, f auditFlags) error {
	if f.limit < 1 {
		return c.usage("err.limit", "found", f.limit)
	}
	since, err := c.instant("since", f.since)
	if err != nil {
		return err
	}
	until, err := c.instant("until", f.until)
	if err != nil {
		return err
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	p := gen.ListAuditParams{Actor: given(f.actor), Action: given(f.action), Object: given(f.object), Fabric: given(c.fabricName), Since: since, Until: until}
	p.Limit = new(min(f.limit, maxPage))
	list, err := firstOf(f.limit, c.auditPages(cmd, client, p))
	if err != nil {
		return err
	}
	return c.print(cmd, list, func() *table {
		t := c.newTable("seq>", "time", "actor", "action", "fabric", "object", "outcome", "from?")
		for _, e := range list {
			t.add(e.Seq, e.At.Format(timeFormat), e.Actor, e.Action, cmdline.OrZero(e.Fabric), shortObject(e.Object), c.t("outcome."+string(e.Outcome)), cmdline.OrZero(e.Addr))
		}
		return t
	})
}

// shortObject shortens the names of plans and snapshots, which have 64 digits.
func shortObject(name string) string {
	if _, err := audit.ParseHash(name); err == nil {
		return short(name)
	}
	return name
}

// auditPages reads pages of the log.
func (c *cli) auditPages(cmd *cobra.Command, client *apiclient.ClientWithResponses, p gen.ListAuditParams) pager[gen.AuditEntry] {
	return func(cursor *string) (*page[gen.AuditEntry], error) {
		p.Cursor = cursor
		list, err := found[gen.AuditList](c)(client.ListAuditWithResponse(cmd.Context(), &p))
		return (*page[gen.AuditEntry])(list), err
	}
}

// auditExport writes the whole log as JSON lines, oldest entry first, and reports its tail.
func (c *cli) auditExport(cmd *cobra.Command, to string) (err error) {
	client, err := c.client()
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if to != "-" {
		f, openErr := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if openErr != nil {
			return usage.Wrap(openErr)
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				err = errors.Join(err, os.Remove(to)) // a partial export would look complete
			}
		}()
		w = f
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	var v audit.Verifier
	n := 0
	p := gen.ListAuditParams{Order: new(gen.ListAuditParamsOrderOldest), Limit: pageSize()}
	err = eachPage(c.auditPages(cmd, client, p), func(items []gen.AuditEntry) error {
		for _, item := range items {
			e, err := auditEntry(item)
			if err == nil {
				err = v.Add(e)
			}
			if err == nil {
				err = enc.Encode(e)
			}
			if err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		c.say(cmd, "msg.audit-exported", "count", n, "tail", v.Tail())
	}
	return err
}

// auditEntry converts the API's form to the one that is hashed.
func auditEntry(in gen.AuditEntry) (audit.Entry, error) {
	e := audit.Entry{
		Seq: in.Seq, At: in.At.UTC(), Actor: in.Actor, ActorKind: in.ActorKind, Token: cmdline.OrZero(in.Token), Addr: cmdline.OrZero(in.Addr), RequestID: cmdline.OrZero(in.RequestID),
		Fabric: cmdline.OrZero(in.Fabric), Action: in.Action, Object: in.Object, Outcome: string(in.Outcome), Detail: cmdline.OrZero(in.Detail),
		Before: cmdline.OrZero(in.Before), After: cmdline.OrZero(in.After),
	}
	var err1, err2 error
	e.Prev, err1 = audit.ParseHash(in.Prev)
	e.Hash, err2 = audit.ParseHash(in.Hash)
	return e, errors.Join(err1, err2)
}

// auditVerify has the service check its log, or checks an exported log locally.
func (c *cli) auditVerify(cmd *cobra.Command, expect, from string) error {
	var tail audit.Tail
	if expect != "" {
		var err error
		if tail, err = audit.ParseTail(expect); err != nil {
			return usage.Wrap(err)
		}
	}
	var report *gen.AuditReport
	var err error
	if from != "" {
		report, err = c.verifyFile(cmd, from, tail)
	} else {
		report, err = c.verifyService(cmd, expect)
	}
	if err != nil {
		return err
	}
	err = c.print(cmd, report, func() *table {
		t := c.newTable("entries>", "first>", "tail")
		t.add(report.Entries, report.First, report.Tail)
		return t
	})
	if err == nil && report.Bad != nil {
		err = errors.New(c.t("err.audit-bad", "seq", report.Bad.Seq, "reason", c.texts.Either(report.Bad.Reason, report.Bad.Said)))
	}
	if err == nil {
		c.say(cmd, "msg.audit-whole")
	}
	return err
}

func (c *cli) verifyService(cmd *cobra.Command, expect string) (*gen.AuditReport, error) {
	client, err := c.client()
	if err != nil {
		return nil, err
	}
	return found[gen.AuditReport](c)(client.VerifyAuditWithResponse(cmd.Context(), &gen.VerifyAuditParams{Expect: given(expect)}))
}

// maxAuditLine is the maximum length of a line in an exported log, in bytes: the values before and after a change, with
// escapes.
const maxAuditLine = 4 << 20

// verifyFile checks an exported log. It takes the log's end as given: only a tail recorded elsewhere reveals missing
// lines there.
func (c *cli) verifyFile(cmd *cobra.Command, path string, expect audit.Tail) (*gen.AuditReport, error) {
	r, name, err := c.open(cmd, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	v := audit.Verifier{Expect: expect}
	report, err := verifyLines(name, r, &v)
	out := &gen.AuditReport{Ok: err == nil, Entries: report.Entries, First: report.First, Tail: report.Tail.String()}
	var bad *audit.BadError
	if errors.As(err, &bad) {
		out.Bad = &gen.AuditFault{Seq: bad.Seq, Reason: bad.Said.String(), Said: &bad.Said}
		return out, nil
	}
	return out, err
}

func verifyLines(name string, r io.Reader, v *audit.Verifier) (audit.Report, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxAuditLine)
	line := 0
	for lines.Scan() {
		line++
		var e audit.Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return audit.Report{}, usage.Wrap(phrase.Because(err, phrase.Of("audit.not-json", "file", name, "line", line, "reason", err)))
		}
		if err := v.Add(e); err != nil {
			return audit.Report{Tail: v.Tail()}, err
		}
	}
	if err := lines.Err(); err != nil {
		return audit.Report{}, usage.Wrap(fmt.Errorf("%s:%d: %w", name, line+1, err))
	}
	return v.Finish(v.Tail())
}
