package operator

import (
	"fmt"

	"github.com/spf13/pflag"
)

// laterFlag is a flag that is known so that existing manifests start, and
// refused when it asks for something that this build cannot do.
type laterFlag struct {
	flag *pflag.Flag
	why  string
}

// check refuses a value other than the default.
func (l laterFlag) check() error {
	if !l.flag.Changed || l.flag.Value.String() == l.flag.DefValue {
		return nil
	}
	return fmt.Errorf("--%s=%s is not supported yet: %s", l.flag.Name, l.flag.Value, l.why)
}

// addLater registers the flags of features that are not built.
func addLater(f *pflag.FlagSet) []laterFlag {
	var out []laterFlag
	mark := func(why string, names ...string) {
		for _, n := range names {
			fl := f.Lookup(n)
			fl.Hidden = true
			out = append(out, laterFlag{flag: fl, why: why})
		}
	}
	f.StringSlice("controllers", nil, "run only these controllers")
	mark("this build runs rollouts and Services together", "controllers")

	f.Int("ingress-threads", 10, "workers for ingresses")
	mark("this build has no workers of that kind", "ingress-threads")

	f.Int("ephemeral-metadata-threads", 10, "pods whose metadata is updated at the same time")
	f.Int("ephemeral-metadata-update-pod-retries", 3, "tries to update a pod's metadata")
	mark("this build does not write pod metadata", "ephemeral-metadata-threads", "ephemeral-metadata-update-pod-retries")

	f.Bool("self-service-notification-enabled", false, "read notification settings of each namespace")
	mark("this build sends no notifications", "self-service-notification-enabled")

	f.String("ingress-api-version", "", "version of the Ingress API")
	mark("Ingresses are read as networking.k8s.io/v1", "ingress-api-version")
	return out
}
