package app

import (
	"testing"

	"fairlane/api/gen"
	"fairlane/internal/i18n"
	"fairlane/service/control"
	"fairlane/service/telemetry"
)

// Every state of contention is in the contract and, but for the one that names a link or is a dash, in the texts of both languages.
func TestStatesOfContentionAreInTheContractAndTheTexts(t *testing.T) {
	t.Parallel()
	if string(telemetry.Contending) != control.ContentionContending {
		t.Errorf("contending is %q by measurements, and %q by the service", telemetry.Contending, control.ContentionContending)
	}
	for _, state := range []telemetry.Contention{telemetry.Contending, telemetry.NotMeasured, telemetry.PathDown, telemetry.Idle, telemetry.AtCap, telemetry.OwnPort,
		telemetry.OtherLink, telemetry.OwnDemand} {
		if !gen.Contention(state).Valid() {
			t.Errorf("%q is not in the contract", state)
		}
		for _, lang := range []string{"en", "zh"} {
			texts, err := i18n.Load(lang)
			if err != nil {
				t.Fatal(err)
			}
			if key := "contention." + string(state); state != telemetry.NotMeasured && texts.T(key) == key {
				t.Errorf("%s has no text %q", lang, key)
			}
		}
	}
}
