package validate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-project/sluice/api/v1alpha1"
)

// shortestWindow is the shortest window in which requests are counted.
const shortestWindow = 10 * time.Second

// verification judges how shares of real requests are proven.
func verification(p *field.Path, c *v1alpha1.TrafficVerification) field.ErrorList {
	if c == nil {
		return nil
	}
	var errs field.ErrorList
	pp := p.Child("provider")
	switch web, prom := c.Provider.Web, c.Provider.Prometheus; {
	case web == nil && prom == nil:
		errs = append(errs, field.Required(pp, "nobody could be asked for the requests; set prometheus or web"))
	case web != nil && prom != nil:
		errs = append(errs, field.Invalid(pp, "prometheus, web", "only one can be asked; remove the other"))
	case web != nil:
		errs = append(errs, named(pp.Child("web", "url"), web.URL, "the page that gives the requests")...)
	default:
		errs = append(errs, named(pp.Child("prometheus", "query"), prom.Query, "the requests of one version within the window")...)
	}
	errs = append(errs, placeholders(pp, c)...)
	if t := c.Tolerance; t != nil {
		errs = append(errs, within(p.Child("tolerance"), *t, 1, 100)...)
	}
	if n := c.MinRequests; n != nil {
		errs = append(errs, atLeast(p.Child("minRequests"), *n, 1)...)
	}
	errs = append(errs, duration(p.Child("window"), c.Window)...)
	if d, err := c.Window.Duration(); err == nil && c.Window != "" && d < shortestWindow {
		errs = append(errs, field.Invalid(p.Child("window"), string(c.Window), "is too short to count requests in; use 10s or more"))
	}
	errs = append(errs, duration(p.Child("timeout"), c.Timeout)...)
	switch c.OnUnproven {
	case "", v1alpha1.UnprovenHold, v1alpha1.UnprovenAbort, v1alpha1.UnprovenContinue:
	default:
		errs = append(errs, field.NotSupported(p.Child("onUnproven"), c.OnUnproven,
			[]v1alpha1.UnprovenAction{v1alpha1.UnprovenHold, v1alpha1.UnprovenAbort, v1alpha1.UnprovenContinue}))
	}
	return errs
}

// givenToShares are the values that the texts of the provider may hold.
func givenToShares() []string { return []string{"version", "hash", "service", "window"} }

// placeholders judges what the texts of the provider ask for: values that are
// known, and something that tells the two versions apart.
func placeholders(p *field.Path, c *v1alpha1.TrafficVerification) field.ErrorList {
	text, err := json.Marshal(c.Provider)
	if err != nil {
		return one(field.Invalid(p, "", err.Error()))
	}
	known := givenToShares()
	for _, a := range c.Args {
		known = append(known, a.Name)
	}
	var errs field.ErrorList
	apart := false
	for _, m := range regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`).FindAllStringSubmatch(string(text), -1) {
		name, ok := strings.CutPrefix(m[1], "args.")
		if !ok || !slices.Contains(known, name) {
			errs = append(errs, field.Invalid(p, m[0], say("has no value; there are args.%s", strings.Join(known, ", args."))))
			continue
		}
		apart = apart || name == "version" || name == "hash" || name == "service"
	}
	if !apart {
		errs = append(errs, field.Invalid(p, "", "asks the same for both versions; use {{args.hash}}, {{args.service}} or {{args.version}} in it"))
	}
	return errs
}
