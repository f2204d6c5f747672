package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/tenants"
	"fairlane/tenants/authz"
)

var updateSecurity = flag.Bool("update-security", false, "rewrite the table of roles in docs/security.md")

// rolesTable returns the page's table of roles.
func rolesTable() string {
	var b strings.Builder
	b.WriteString("| object | what it is |")
	for _, r := range tenants.Roles() {
		fmt.Fprintf(&b, " %s |", r)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(tenants.Roles())) + "\n")
	letter := map[authz.Action]string{authz.Read: "R", authz.Write: "W", authz.Run: "X"}
	for _, o := range authz.Objects() {
		fmt.Fprintf(&b, "| `%s` | %s |", o.Object, o.About)
		for _, r := range tenants.Roles() {
			cell := ""
			for _, right := range authz.Table(r) {
				if right.Object != o.Object {
					continue
				}
				for _, a := range right.Actions {
					cell += letter[a]
				}
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestThePageOfSecurityHasTheTableOfRoles(t *testing.T) {
	const path = "docs/security.md"
	text, table := page(t, path), rolesTable()
	shown := between(t, text, "roles")
	if *updateSecurity {
		if err := os.WriteFile(filepath.Join(root, path), []byte(strings.Replace(text, shown, table, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if shown != table {
		t.Errorf("the table of roles in docs/security.md is not that of tenants/authz: run go test ./test/docs -update-security and review")
	}
}
