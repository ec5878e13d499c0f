//! Where compiled GPU kernels are kept between runs.

use std::path::Path;
use std::sync::Once;

use cubecl_runtime::config::cache::CacheConfig;
use cubecl_runtime::config::{CubeClRuntimeConfig, RuntimeConfig};

use crate::quiet;

/// Keeps compiled kernels under `folder` from now on.
///
/// Must come before the first use of a GPU. A cubecl.toml of the user's stays in force otherwise; a second
/// folder, or one given too late, changes nothing.
pub(super) fn keep_under(folder: &Path) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // cubecl panics where its settings were read before: then they stay as they are.
        let _ = quiet::catch(|| {
            let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
            if config.compilation.cache.is_none() {
                config.compilation.cache = Some(CacheConfig::File(folder.to_path_buf()));
                config.autotune.cache = CacheConfig::File(folder.to_path_buf());
                CubeClRuntimeConfig::set(config);
            }
        });
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_set_once() {
        for folder in ["/tmp/first", "/tmp/second"] {
            keep_under(Path::new(folder));
        }
        let config = CubeClRuntimeConfig::get();
        let cache = config.compilation.cache.as_ref().map(CacheConfig::root);
        assert_eq!(cache.unwrap(), Path::new("/tmp/first"));
    }
}
