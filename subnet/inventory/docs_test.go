package inventory_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"fairlane/subnet/inventory"
)

func TestTheExampleInTheDocumentIsRead(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/fabric-files.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)## Inventory of .*?```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example of an inventory")
	}
	inv, err := inventory.Read("inventory.yaml", strings.NewReader(string(example[1])))
	if err != nil {
		t.Fatal(err)
	}
	if inv.Fabric != "fabric.yaml" || len(inv.Devices) == 0 {
		t.Errorf("the example is %+v", inv)
	}
}
