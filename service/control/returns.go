package control

import (
	"time"

	"fairlane/internal/phrase"
)

// ReasonNotOnFabric is the reason why a device cannot be returned or compared.
func ReasonNotOnFabric() phrase.Text { return phrase.Of("device.gone") }

// Words returns the name of the settings that devices return to.
func (to ReturnTo) Words() phrase.Text {
	if to == ToFactory {
		return phrase.Of("event.factory")
	}
	return phrase.Of("event.baseline")
}

// ReleasedText says that a fabric is not managed, and names the command that helps.
func ReleasedText(f Fabric) phrase.Text {
	since := f.ManagementAt.UTC().Format(time.DateTime)
	if f.Management == Releasing {
		return phrase.Of("problem.releasing", "fabric", f.Name, "since", since)
	}
	return phrase.Of("problem.released", "fabric", f.Name, "since", since)
}
