package i18n

import (
	"regexp"
	"testing"

	"fairlane/internal/phrase"
)

// TestSentencesInChineseHaveNoWordOfAState words what commands list in Chinese: events, results of rollouts, errors of
// devices. Nothing but names, and what a device answered, is in English.
func TestSentencesInChineseHaveNoWordOfAState(t *testing.T) {
	t.Parallel()
	verified := phrase.Of("result.verified", "n", 3)
	for _, c := range []struct {
		said phrase.Text
		want string
	}{
		{phrase.Of("event.rollout-ended", "rollout", 7, "state", "succeeded", "result", verified), "下发 7 结束（成功）：3 台设备已核验"},
		{phrase.Of("event.rollout-ended", "rollout", 7, "state", "rolled-back", "result", verified), "下发 7 结束（已回退）：3 台设备已核验"},
		{phrase.Of("result.placement", "state", "verified"), "放置：已核验"},
		{phrase.Of("event.drift-policy", "fabric", "lab", "policy", "report"), "网络 lab 的偏离策略：仅报告"},
		{phrase.Of("event.member", "user", "ada", "role", "tenant-admin", "kind", phrase.Of("kind.tenant"), "name", "gold"), "用户 ada 在租户 gold 中的角色为租户管理员"},
		{phrase.Of("device.reading", "reason", phrase.Of("device.unreachable", "text", phrase.Quoted("no answer"))), "读取：无法访问设备：“no answer”"},
	} {
		got := load(t, "zh").Say(c.said)
		if got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if english := regexp.MustCompile(`[a-z]{2,}`).FindAllString(regexp.MustCompile(`“[^”]*”|lab|ada|gold`).ReplaceAllString(got, ""), -1); english != nil {
			t.Errorf("%q has the words %q", got, english)
		}
	}
}
