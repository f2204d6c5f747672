package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestThePageOfKubernetesHasAllReasonsFlagsAndVariables compares docs/kubernetes.md with the code.
func TestThePageOfKubernetesHasAllReasonsFlagsAndVariables(t *testing.T) {
	t.Parallel()
	text := page(t, "docs/kubernetes.md")
	for file, pattern := range map[string]string{
		"kube/controller/sentences.go":    `(?:\b(?:yes|no|unknown)\(|reason :?= )"([A-Za-z]+)"`,
		"kube/app/app.go":                 `set\.[A-Za-z]+\((?:&f\.[A-Za-z]+, )?"([a-z-]+)"`,
		"kube/admission/environment.go":   `"([A-Z_]{6,})"`,
		"deploy/kubernetes/policies.yaml": `policyName: ([a-z-]+)`,
	} {
		source, err := os.ReadFile("../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllSubmatch(source, -1)
		if len(found) < 3 {
			t.Errorf("%s: only %d names fit the pattern", file, len(found))
		}
		for _, m := range found {
			name := string(m[1])
			if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`--"+name+"`") {
				t.Errorf("docs/kubernetes.md does not have %s of %s", name, file)
			}
		}
	}
}
