//! A GPU that gets ready in the background while the processor answers.
//!
//! The first use of a GPU takes up to minutes, since its kernels are compiled then. A person who types a
//! query does not wait for that; an indexing job does, since it would be slower without.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{Deliver, Runner};
use crate::backend::BackendInfo;
use crate::error::EncoderError;
use crate::tokens::TokenIds;

/// So many texts or fewer are not worth waiting for.
const FEW: usize = 4;

/// How often the caller is asked whether to go on while the GPU gets ready.
const TICK: Duration = Duration::from_millis(50);

/// The processor now, a GPU later.
pub(super) struct Warming {
    cpu: Box<dyn Runner>,
    later: Arc<Later>,
}

/// What becomes of the GPU.
#[derive(Default)]
struct Later {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, Clone)]
enum State {
    #[default]
    Warming,
    Ready(Arc<dyn Runner>),
    Failed,
}

impl Later {
    fn state(&self) -> State {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn settle(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }
}

/// Says `Failed` if the thread that should say more ends without a word.
struct Settle(Arc<Later>);

impl Drop for Settle {
    fn drop(&mut self) {
        if matches!(self.0.state(), State::Warming) {
            self.0.settle(State::Failed);
        }
    }
}

impl Warming {
    /// Answers on `cpu` and starts to `load` the GPU's model; `None` from it means that no GPU works.
    pub(super) fn start(
        cpu: Box<dyn Runner>,
        load: impl FnOnce() -> Option<Box<dyn Runner>> + Send + 'static,
    ) -> Result<Box<dyn Runner>, EncoderError> {
        let later = Arc::new(Later::default());
        let settle = Settle(Arc::clone(&later));
        let started = std::thread::Builder::new()
            .name("gpu warm-up".to_owned())
            .spawn(move || {
                let settle = settle;
                if let Some(gpu) = load() {
                    settle.0.settle(State::Ready(gpu.into()));
                }
            });
        Ok(match started {
            Ok(_) => Box::new(Self { cpu, later }),
            // Without a thread there is no GPU, but all the rest works.
            Err(_) => cpu,
        })
    }

    /// Waits until the GPU is ready or has failed; `None` if it failed.
    fn wait(&self, deliver: Deliver<'_>) -> Result<Option<Arc<dyn Runner>>, EncoderError> {
        let mut state = self
            .later
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*state {
                State::Ready(gpu) => return Ok(Some(Arc::clone(gpu))),
                State::Failed => return Ok(None),
                State::Warming => {}
            }
            state = self
                .later
                .changed
                .wait_timeout(state, TICK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if deliver(&[], &[]).is_break() {
                return Err(EncoderError::Cancelled);
            }
        }
    }
}

impl Runner for Warming {
    fn run(
        &self,
        tokens: &[TokenIds],
        known: &[bool],
        deliver: Deliver<'_>,
    ) -> Result<(), EncoderError> {
        let gpu = match self.later.state() {
            State::Ready(gpu) => Some(gpu),
            State::Warming if tokens.len() > FEW => self.wait(deliver)?,
            State::Warming | State::Failed => None,
        };
        match gpu {
            Some(gpu) => gpu.run(tokens, known, deliver),
            None => self.cpu.run(tokens, known, deliver),
        }
    }

    fn backend(&self) -> BackendInfo {
        match self.later.state() {
            State::Ready(gpu) => gpu.backend(),
            State::Warming | State::Failed => self.cpu.backend(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::mpsc;

    use super::*;
    use crate::backend::{Backend, BackendChoice, candidates};
    use crate::config::{Config, Purpose};
    use crate::pooling::Pooling;
    use crate::run::{Place, load};
    use crate::tests::folder;
    use crate::weights::Weights;

    /// A real model on the processor, that says it is somewhere else.
    struct Elsewhere(Box<dyn Runner>);

    impl Runner for Elsewhere {
        fn run(
            &self,
            tokens: &[TokenIds],
            known: &[bool],
            deliver: Deliver<'_>,
        ) -> Result<(), EncoderError> {
            self.0.run(tokens, known, deliver)
        }

        fn backend(&self) -> BackendInfo {
            BackendInfo {
                backend: Backend::Wgpu,
                ..self.0.backend()
            }
        }
    }

    fn model() -> Box<dyn Runner> {
        let folder = folder::write();
        let place = Place {
            found: candidates(BackendChoice::Cpu).unwrap().remove(0),
            precision: Default::default(),
            threads: None,
            pooling: Pooling::Cls,
        };
        let config = Config::read(folder.path(), Purpose::Embed).unwrap();
        load(&place, &mut Weights::open(folder.path()).unwrap(), &config).unwrap()
    }

    fn texts(n: usize) -> Vec<TokenIds> {
        let text = TokenIds {
            ids: vec![2, 7, 3],
            types: vec![0; 3],
        };
        vec![text; n]
    }

    fn rows(runner: &dyn Runner, n: usize) -> usize {
        let mut rows = 0;
        let mut count = |which: &[usize], _: &[f32]| {
            rows += which.len();
            ControlFlow::Continue(())
        };
        runner.run(&texts(n), &[], &mut count).unwrap();
        rows
    }

    #[test]
    fn a_query_does_not_wait_and_a_job_does() {
        let (go, wait) = mpsc::channel::<()>();
        let warming = Warming::start(model(), move || {
            wait.recv().ok()?;
            Some(Box::new(Elsewhere(model())))
        })
        .unwrap();
        assert_eq!(rows(&*warming, FEW), FEW);
        assert_eq!(warming.backend().backend, Backend::Cpu);
        // A job waits, can be given up while it does, and goes to the GPU.
        let given_up = warming.run(&texts(FEW + 1), &[], &mut |_, _| ControlFlow::Break(()));
        assert!(matches!(given_up, Err(EncoderError::Cancelled)));
        std::thread::scope(|scope| {
            let job = scope.spawn(|| rows(&*warming, FEW + 1));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!job.is_finished());
            go.send(()).unwrap();
            assert_eq!(job.join().unwrap(), FEW + 1);
        });
        assert_eq!(warming.backend().backend, Backend::Wgpu);
    }

    #[test]
    fn without_a_working_gpu_the_processor_does_all() {
        type Load = Box<dyn FnOnce() -> Option<Box<dyn Runner>> + Send>;
        let fails: [Load; 2] = [
            Box::new(|| None),
            Box::new(|| std::panic::resume_unwind(Box::new("no driver"))),
        ];
        for fail in fails {
            let warming = Warming::start(model(), fail).unwrap();
            assert_eq!(rows(&*warming, 100), 100);
            assert_eq!(warming.backend().backend, Backend::Cpu);
        }
    }
}
