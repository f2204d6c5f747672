package remote

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
)

// silenceFlags are the period and the reason of a silence.
type silenceFlags struct {
	start, until, comment string
	length                time.Duration
}

// silence are the verbs about silences.
func (c *cli) silence() *cobra.Command {
	var expired bool
	list := c.verb("alert.silence", "list", "  fairlane alert silence list\n  fairlane alert silence list --expired -o json", cobra.NoArgs,
		listed(c, c.anywhere, func(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, cursor *string) (*page[gen.Silence], error) {
			found, err := found[gen.SilenceList](c)(client.ListSilencesWithResponse(cmd.Context(), &gen.ListSilencesParams{Expired: given(expired), Limit: pageSize(), Cursor: cursor}))
			return (*page[gen.Silence])(found), err
		}, c.silenceTable))
	list.Flags().BoolVar(&expired, "expired", false, c.t("flag.silence-expired"))
	var f silenceFlags
	add := c.verb("alert.silence", "add MATCHER...", "  fairlane alert silence add 'alertname=~Share.*' fabric=lab --for 2h --comment 'maintenance of leaf1'\n"+
		"  fairlane alert silence add tenant=red --start 2026-12-01T20:00:00Z --until 2026-12-02T06:00:00Z --comment 'load test'", cobra.MinimumNArgs(1),
		func(cmd *cobra.Command, args []string) error { return c.silenceAdd(cmd, args, f) })
	add.Flags().DurationVar(&f.length, "for", 0, c.t("flag.silence-for"))
	add.Flags().StringVar(&f.start, "start", "", c.t("flag.silence-start"))
	add.Flags().StringVar(&f.until, "until", "", c.t("flag.silence-until"))
	add.Flags().StringVar(&f.comment, "comment", "", c.t("flag.silence-comment"))
	expire := c.verb("alert.silence", "expire ID", "  fairlane alert silence expire 7", cobra.ExactArgs(1),
		c.onNumber(c.anywhere, "err.task-id", func(cmd *cobra.Command, client *apiclient.ClientWithResponses, _ string, id int64) error {
			if err := c.judge(client.ExpireSilenceWithResponse(cmd.Context(), id, &gen.ExpireSilenceParams{DryRun: given(c.dry)})); err != nil {
				return err
			}
			c.kept(cmd, "msg.silence-expired", "id", id)
			return nil
		}))
	c.writes(add, expire)
	group := &cobra.Command{Use: "silence", Short: c.t("cmd.alert.silence")}
	group.AddCommand(list, add, expire)
	return group
}

func (c *cli) silenceTable(list []gen.Silence) *table {
	t := c.newTable("id>", "state", "matchers", "starts", "ends", "author", "comment")
	for i := range list {
		s := &list[i]
		t.add(s.ID, c.t("silence-state."+string(s.State)), strings.Join(s.Matchers, " "), s.StartsAt.Format(timeFormat), s.EndsAt.Format(timeFormat), s.Author, s.Comment)
	}
	return t
}

func (c *cli) silenceAdd(cmd *cobra.Command, matchers []string, f silenceFlags) error {
	if (f.until == "") == (f.length == 0) {
		return c.usage("err.silence-end")
	}
	if f.comment == "" {
		return c.usage("err.need-flag", "flag", "comment")
	}
	if f.length < 0 {
		return c.usage("err.silence-for", "found", f.length)
	}
	body := gen.SilenceCreate{Matchers: matchers, Comment: f.comment}
	from := time.Now().UTC()
	for _, at := range []struct {
		flag, text string
		to         *time.Time
	}{{"start", f.start, &from}, {"until", f.until, &body.EndsAt}} {
		if at.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, at.text)
		if err != nil {
			return c.usage("err.silence-time", "flag", at.flag, "found", fmt.Sprintf("%q", at.text))
		}
		*at.to = t
	}
	if f.start != "" {
		body.StartsAt = &from
	}
	if f.length > 0 {
		body.EndsAt = from.Add(f.length)
	}
	client, err := c.client()
	if err != nil {
		return err
	}
	s, err := created[gen.Silence](c)(client.AddSilenceWithResponse(cmd.Context(), &gen.AddSilenceParams{DryRun: given(c.dry)}, body))
	if err != nil {
		return err
	}
	c.kept(cmd, "msg.silence-added", "id", s.ID)
	return shown(c, cmd, s, c.silenceTable)
}
